import TrackingCore

/// Decides which commands to send to a serial receiver so that its cycle matches the resolution.
///
/// The machine first asks the receiver for its identity in both command languages; other receivers ignore the query.
/// It requests a cycle only of a receiver that answered, or that named itself when it started. The receiver does not
/// store the cycle and returns to its own setting when it is switched off. The machine therefore repeats the request
/// when the receiver starts again.
struct SerialReceiverStateMachine: Sendable {
    /// The command language in which a receiver is asked for a cycle, the time between two fixes.
    enum Family: Hashable, Sendable {
        /// PMTK sentences: the command language of MediaTek receivers and of many compatible ones.
        case mediaTek
        /// UBX messages: the command language of u-blox receivers.
        case ublox
    }

    private let shortest: Duration
    private var family: Family?
    private var hasQueried = false
    private var resolution: Resolution?
    private var asked: Duration?

    /// Creates the state machine for a receiver on a serial line of `speed` bits a second. At 9,600 a burst of
    /// sentences takes half a second, so cycles of less than a second are requested only from 38,400 on.
    init(speed: Int, resolution: Resolution?) {
        self.shortest = speed >= 38_400 ? ReceiverCycle.shortest : .seconds(1)
        self.resolution = resolution
    }

    /// Handles that the serial line was opened. Returns the bytes to send to the receiver; none if there is nothing to
    /// send.
    mutating func opened() -> [UInt8] { self.ask() }

    /// Stores the resolution that the trackables now need. Returns the bytes to send to the serial receiver, which ask
    /// it for the matching cycle (the time between two fixes); empty if there is nothing to ask.
    mutating func resolutionChanged(to resolution: Resolution) -> [UInt8] {
        self.resolution = resolution
        return self.ask()
    }

    /// Handles that the receiver sent a sentence. If the sentence shows the make of the receiver, or that the receiver
    /// has restarted, returns the bytes that ask it for the wanted cycle, the time between two fixes. Otherwise returns
    /// no bytes.
    mutating func received(_ sentence: NMEASentence) -> [UInt8] {
        guard case .other(let address, let fields) = sentence else { return [] }
        let isUblox = address.hasSuffix("TXT") && fields.contains { $0.contains("u-blox") }
        if self.family != nil {
            // The receiver has started again, with its own cycle.
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

    /// Returns `true` for the message that a MediaTek receiver sends when it starts.
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

    /// Returns an NMEA sentence with the given body, its checksum and a line end, as bytes to send to the receiver.
    static func sentence(_ body: String) -> [UInt8] {
        let checksum = NMEASentence.checksum(body.utf8)
        let digits = String(checksum, radix: 16, uppercase: true)
        return Array("$\(body)*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n".utf8)
    }

    /// Returns the u-blox message UBX-CFG-RATE, which sets the time between two measurements. Each measurement gives a
    /// fix, and the measurements are aligned to GPS time.
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
