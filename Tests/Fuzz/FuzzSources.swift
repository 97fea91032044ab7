import TrackingCore

@testable import TrackingPublisher

/// Decodes recorded and live NMEA. The result does not depend on how the bytes are divided.
func fuzzNMEA(_ bytes: [UInt8]) {
    let clock = UnixTime(1_700_000_000)
    checkPieces(bytes) { NMEARecordingReader(clock: clock) }
    var splitter = LineSplitter()
    var decoder = NMEADecoder(isLive: true)
    var receiver = SerialReceiverStateMachine(speed: 9_600, resolution: .standard)
    for line in splitter.append(bytes[...]).map({ NMEALine($0) }) {
        checkFixes(decoder.receive(line, clock: clock))
        if case .sentence(let sentence) = line { _ = receiver.received(sentence) }
        if bytes.count % 3 == 0 { checkFixes(decoder.fellQuiet(clock: clock)) }
    }
    checkFixes(decoder.finish(clock: clock))
}

/// Parses the reports of gpsd, and checks that each command to gpsd is one line.
func fuzzGPSD(_ bytes: [UInt8]) {
    var splitter = LineSplitter()
    var machine = GPSDSessionStateMachine(name: "gpsd", asksForCycle: true, resolution: .standard)
    let now = MonotonicTime(.zero)
    _ = machine.connected(now: now)
    for line in splitter.append(bytes[...]) {
        for action in machine.received(line, now: now) {
            switch action {
            case .send(let text): precondition(text.utf8.firstIndex(of: 0x0A) == text.utf8.indices.last)
            case .deliver(let event): checkFixes([event])
            case .fail: return
            }
        }
    }
}

/// Decodes a message of D-Bus, and the position in it. Also reads the bytes as the conversation with GeoClue.
func fuzzDBus(_ bytes: [UInt8]) {
    let (now, clock) = (MonotonicTime(.zero), UnixTime(1_700_000_000))
    if let message = try? DBusMessage(bytes), let properties = message.body.first,
        let fix = try? GeoCluePosition.fix(properties, clock: clock)
    {
        checkFixes([.fix(fix)])
    }
    var machine = GeoClueStateMachine(name: "GeoClue", resolution: .standard)
    _ = machine.received(Array("OK\r\n".utf8)[...], now: now, clock: clock)
    for action in machine.received(bytes[...], now: now, clock: clock) {
        if case .send(let bytes) = action { precondition((try? DBusMessage(bytes)) != nil, "an invalid call") }
    }
}

/// Decodes GPX. The result does not depend on how the bytes are divided.
func fuzzGPX(_ bytes: [UInt8]) { checkPieces(bytes) { GPXReader() } }

/// Decodes the bytes at once and in pieces, and compares the results. The bytes also determine the sizes of the pieces.
func checkPieces<Decoder: RecordingDecoder>(_ bytes: [UInt8], _ make: () -> Decoder) {
    var whole = make()
    let events = whole.append(bytes[...]) + whole.finish()
    checkFixes(events)
    var cut = make()
    var pieces: [SourceEvent] = []
    var start = 0
    while start < bytes.count {
        let end = min(bytes.count, start + 1 + Int(bytes[start] % 32))
        pieces += cut.append(bytes[start..<end])
        start = end
    }
    pieces += cut.finish()
    precondition(pieces == events, "it matters how the bytes are cut")
    precondition(whole.failure == cut.failure, "it matters to the failure how the bytes are cut")
}

/// Checks that every fix of a source can be sent and arrives unchanged.
private func checkFixes(_ events: [SourceEvent]) {
    for case .fix(let location) in events {
        let update = LocationUpdate(location: location)
        guard let payload = try? LocationCodec.encode(update) else { preconditionFailure("a fix that cannot be sent") }
        precondition((try? LocationCodec.decode(payload)) == update, "a fix that does not arrive as it was")
    }
}
