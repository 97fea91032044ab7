import TrackingCore

/// Decides what to say to a serial receiver so that its cycle matches the resolution.
///
/// With care: a receiver is first asked who it is, in the two languages there are, both of which others ignore; only one that
/// answered, or that said so when it started, is told a cycle. Nothing is stored in the receiver: its own setting is back when it is
/// switched off, so that one that starts again is told again.
struct SerialReceiverStateMachine: Sendable {
    /// The languages for setting a cycle.
    enum Family: Hashable, Sendable {
        /// PMTK sentences (MediaTek, and many that copy it).
        case mediaTek
        /// UBX messages (u-blox).
        case ublox
    }

    private let shortest: Duration
    private var family: Family?
    private var hasQueried = false
    private var resolution: Resolution?
    private var asked: Duration?

    /// Makes the machine for a line of `speed` bits a second: a burst of sentences takes half a second at 9,600, so that
    /// less than a second is asked for only from 38,400 on.
    init(speed: Int, resolution: Resolution?) {
        self.shortest = speed >= 38_400 ? ReceiverCycle.shortest : .seconds(1)
        self.resolution = resolution
    }

    /// The line was opened. Gives the bytes to send.
    mutating func opened() -> [UInt8] { self.ask() }

    /// Another resolution is wanted. Gives the bytes to send.
    mutating func resolutionChanged(to resolution: Resolution) -> [UInt8] {
        self.resolution = resolution
        return self.ask()
    }

    /// The receiver sent a sentence. Gives the bytes to send.
    mutating func heard(_ sentence: NMEASentence) -> [UInt8] {
        guard case .other(let address, let fields) = sentence else { return [] }
        let isUblox = address.hasSuffix("TXT") && fields.contains { $0.contains("u-blox") }
        if self.family != nil {
            // Its own setting is back.
            guard isUblox || Self.isStart(address, fields) else { return [] }
            self.asked = nil
        } else if address.hasPrefix("PMTK") {
            self.family = .mediaTek
        } else if address == "PUBX" || isUblox {
            self.family = .ublox
        } else {
            return []
        }
        return self.ask()
    }

    /// Whether a receiver of MediaTek's says that it has started.
    private static func isStart(_ address: String, _ fields: [String]) -> Bool {
        address == "PMTK011" || (address == "PMTK010" && fields.first == "001")
    }

    private mutating func ask() -> [UInt8] {
        guard let resolution = self.resolution else { return [] }
        guard let family = self.family else {
            defer { self.hasQueried = true }
            return self.hasQueried ? [] : Self.sentence("PMTK605") + Self.sentence("PUBX,00")
        }
        let cycle = ReceiverCycle.matching(resolution, shortest: self.shortest)
        guard cycle != self.asked else { return [] }
        self.asked = cycle
        switch family {
        case .mediaTek: return Self.sentence("PMTK220,\(cycle.inMilliseconds)")
        case .ublox: return Self.rate(milliseconds: UInt16(clamping: cycle.inMilliseconds))
        }
    }

    /// A sentence around `body`, with its checksum.
    static func sentence(_ body: String) -> [UInt8] {
        let checksum = NMEASentence.checksum(body.utf8)
        let digits = String(checksum, radix: 16, uppercase: true)
        return Array("$\(body)*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n".utf8)
    }

    /// UBX-CFG-RATE: measure every so many milliseconds, a fix for each measurement, aligned to GPS time.
    static func rate(milliseconds: UInt16) -> [UInt8] {
        let message: [UInt8] = [
            0x06, 0x08, 6, 0, UInt8(truncatingIfNeeded: milliseconds), UInt8(milliseconds >> 8), 1, 0, 1, 0,
        ]
        var first: UInt8 = 0
        var second: UInt8 = 0
        for byte in message {
            first &+= byte
            second &+= first
        }
        return [0xB5, 0x62] + message + [first, second]
    }
}
