import TrackingCore

/// Decides which commands to send to a serial receiver so that its cycle and its power match the resolution.
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
    /// `true` while the receiver is asked to save energy at the cost of accuracy; `nil` if the receiver may have another
    /// setting.
    private var isSaving: Bool? = false
    private var rest = Rest.awake
    /// The number of sentences received from a receiver whose command language is not known.
    private var sentences = 0

    private enum Rest: Sendable {
        /// The receiver measures. Next state: `asleep`.
        case awake
        /// The receiver sleeps, and a command would wake it. Next state: `waking`.
        case asleep
        /// The receiver was woken. It accepts commands from its first sentence on. Next states: `awake`, `asleep`.
        case waking
    }

    /// The number of sentences after which the receiver is asked for its identity a second time. It may have been asleep
    /// when it was asked first.
    private static let patience = 10

    /// `true` if the receiver's command language is known, and so the command with which it sleeps.
    var canSleep: Bool { self.family != nil }

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
        if self.rest == .waking {
            self.rest = .awake
            self.forgetSettings()
            return self.ask()
        }
        if self.family == nil {
            self.sentences += 1
            if self.sentences == Self.patience, self.hasQueried {
                self.hasQueried = false
                return self.ask()
            }
        }
        guard case .other(let address, let fields) = sentence else { return [] }
        let isUblox = address.hasSuffix("TXT") && fields.contains { $0.contains("u-blox") }
        if self.family != nil {
            // The receiver has started again, with its own cycle.
            guard isUblox || Self.isStart(address, fields) else { return [] }
            self.forgetSettings()
        } else if address.hasPrefix("PMTK") {
            self.family = .mediaTek
        } else if address == "PUBX" || isUblox {
            self.family = .ublox
        } else {
            return []
        }
        return self.ask()
    }

    /// Returns the command with which the receiver sleeps; no bytes if its command language is not known.
    ///
    /// - Parameter duration: The time after which a u-blox receiver wakes by itself; `nil` until it is woken.
    mutating func sleep(for duration: Duration?) -> [UInt8] {
        guard let family = self.family else { return [] }
        self.rest = .asleep
        switch family {
        case .mediaTek: return Self.sentence("PMTK161,0")
        case .ublox: return Self.backup(for: duration)
        }
    }

    /// Returns the bytes that wake the receiver. The settings follow with its first sentence, because it discards bytes
    /// that arrive while it starts.
    mutating func wake() -> [UInt8] {
        self.rest = .waking
        // Any text wakes a MediaTek receiver. This one also ends a periodic mode that another program has set.
        return self.family == .mediaTek ? Self.sentence("PMTK225,0") : Self.wakeUp
    }

    private mutating func forgetSettings() {
        self.asked = nil
        if self.isSaving == true { self.isSaving = nil }
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
        guard self.rest == .awake else { return [] }
        let cycle = ReceiverCycle.matching(resolution, shortest: self.shortest)
        return self.ask(for: cycle, of: family) + self.askToSave(resolution.accuracy <= .low, at: cycle, of: family)
    }

    private mutating func ask(for cycle: Duration, of family: Family) -> [UInt8] {
        guard cycle != self.asked else { return [] }
        self.asked = cycle
        switch family {
        case .mediaTek: return Self.sentence("PMTK220,\(cycle.inMilliseconds)")
        case .ublox: return Self.rate(milliseconds: UInt16(clamping: cycle.inMilliseconds))
        }
    }

    /// Returns the command with which the receiver saves energy at the cost of accuracy, or stops saving.
    ///
    /// A MediaTek receiver does not search for the satellites that send corrections (SBAS). A u-blox receiver tracks
    /// only part of the time. It then has a cycle of one second, and so saves only if this cycle is wanted.
    private mutating func askToSave(_ isCoarse: Bool, at cycle: Duration, of family: Family) -> [UInt8] {
        let saves = isCoarse && (family == .mediaTek || cycle == .seconds(1))
        guard saves != self.isSaving else { return [] }
        self.isSaving = saves
        switch family {
        case .mediaTek: return Self.sentence("PMTK313,\(saves ? 0 : 1)")
        case .ublox: return Self.powerSave(saves)
        }
    }
}
