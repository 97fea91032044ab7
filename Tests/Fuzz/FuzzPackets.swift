import TrackingCore

/// Parses a broker's stream as a whole and byte by byte. Both give the same verdict, and no packet after a fault is
/// delivered.
func fuzzPackets(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let version: ConnectionStateMachine.Version = first & 1 == 0 ? .v5 : .v311
    let connack: [UInt8] = version == .v5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]
    // Streams that begin with a valid CONNACK reach the other packets sooner.
    let stream = (first & 2 == 0 ? connack : []) + bytes.dropFirst()

    var whole = InboundPacketCheck(version: version, maximumPacketSize: 300_000)
    let verdict = stream.withUnsafeBytes { whole.check($0) }
    precondition(verdict.safeCount <= stream.count)
    precondition(verdict.fault != nil || verdict.safeCount == stream.count)

    var single = InboundPacketCheck(version: version, maximumPacketSize: 300_000)
    var fault: InboundPacketCheck.Fault?
    for byte in stream {
        fault = withUnsafeBytes(of: byte) { single.check($0) }.fault
        if fault != nil { break }
    }
    precondition(fault == verdict.fault)
    if fault == nil { precondition(single.isIncomplete == whole.isIncomplete) }
}
