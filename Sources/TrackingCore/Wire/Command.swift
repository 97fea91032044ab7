/// Something that an operator, or whoever has the device in hand, wants a publisher to do (`command`).
public struct Command: Hashable, Sendable {
    /// A random UUID; the answer repeats it, and the same id is carried out once.
    public var id: String
    /// What is to be done.
    public var name: Name
    /// When it was given, by the clock of whoever gave it.
    public var time: UnixTime
    /// When it is no longer to be carried out; 60 s after ``time`` when `nil`.
    public var expires: UnixTime?
    /// What there is to say about it.
    public var arguments: [String: JSONValue]

    /// The most bytes of a command: 16 KiB.
    public static let maximumBytes = 16_384
    /// How long a command stands that does not say until when.
    public static let standardLife: Duration = .seconds(60)

    /// Makes a command.
    public init(
        id: String, name: Name, time: UnixTime, expires: UnixTime? = nil, arguments: [String: JSONValue] = [:]
    ) {
        self.id = id
        self.name = name
        self.time = time
        self.expires = expires
        self.arguments = arguments
    }

    /// When it is no longer to be carried out.
    public var deadline: UnixTime { self.expires ?? self.time.advanced(by: Self.standardLife) }

    /// What can be done: one of these, or a word of a later version.
    public struct Name: Hashable, Sendable, RawRepresentable {
        /// The word on the wire.
        public let rawValue: String
        /// Makes a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Tell a fix now.
        public static let report = Name(rawValue: "REPORT")
        /// Send one batch now.
        public static let sendNow = Name(rawValue: "SEND_NOW")
        /// Send everything that waits.
        public static let flush = Name(rawValue: "FLUSH")
        /// Begin a trip: `mode`.
        public static let startTrip = Name(rawValue: "START_TRIP")
        /// End the trip under way.
        public static let stopTrip = Name(rawValue: "STOP_TRIP")
        /// Sample and send again.
        public static let on = Name(rawValue: "ON")
        /// Sample nothing, send nothing, be absent; the log is kept.
        public static let off = Name(rawValue: "OFF")
        /// Change settings: each argument is a key.
        public static let configure = Name(rawValue: "CONFIGURE")
        /// Carry this trackable alone: `trackable`, `destination`.
        public static let track = Name(rawValue: "TRACK")
        /// Carry this trackable, too: `trackable`, `destination`.
        public static let add = Name(rawValue: "ADD")
        /// Carry this trackable no longer: `trackable`.
        public static let remove = Name(rawValue: "REMOVE")
        /// Go to another place, or nowhere: `trackable`, `destination`.
        public static let destination = Name(rawValue: "DESTINATION")
    }
}

/// What came of a command: an event of kind COMMAND has it as its detail, and a response topic as its payload.
public struct CommandAnswer: Hashable, Sendable {
    /// The command's id.
    public var id: String
    /// What there is to tell, or why it was not done.
    public var outcome: Result<[String: JSONValue], CommandFailure>

    /// Makes an answer.
    public init(id: String, outcome: Result<[String: JSONValue], CommandFailure>) {
        self.id = id
        self.outcome = outcome
    }
}

/// Why a command was not carried out: a code to match and a sentence to read, without coordinates or credentials.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The part to match on; the list is open.
    public struct Code: Hashable, Sendable, RawRepresentable {
        /// The word on the wire.
        public let rawValue: String
        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No such command here.
        public static let unknownCommand = Code(rawValue: "UNKNOWN_COMMAND")
        /// An argument is missing, of the wrong kind or out of its range.
        public static let invalidArguments = Code(rawValue: "INVALID_ARGUMENTS")
        /// This command is not taken from here.
        public static let notAllowed = Code(rawValue: "NOT_ALLOWED")
        /// The agent does not carry this trackable.
        public static let unknownTrackable = Code(rawValue: "UNKNOWN_TRACKABLE")
        /// A trip is under way already.
        public static let tripUnderWay = Code(rawValue: "TRIP_UNDER_WAY")
        /// No trip is under way.
        public static let noTrip = Code(rawValue: "NO_TRIP")
        /// Points of the trackable are not sent yet.
        public static let unsentPoints = Code(rawValue: "UNSENT_POINTS")
        /// The agent is off.
        public static let isOff = Code(rawValue: "OFF")
        /// There is no connection to the broker.
        public static let notConnected = Code(rawValue: "NOT_CONNECTED")
        /// Too many ask at once.
        public static let busy = Code(rawValue: "BUSY")
        /// Something else, which the message says.
        public static let failed = Code(rawValue: "FAILED")
    }

    /// What went wrong, to match on.
    public var code: Code
    /// What went wrong, to read; at most 1,000 bytes are written.
    public var message: String

    /// Makes a failure.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What one of the libraries says, as the answer to a command.
    public init(_ error: TrackingError) {
        switch error.code {
        case .invalidName, .invalidConfiguration, .invalidPayload: self.init(.invalidArguments, error.message)
        case .brokerUnreachable, .connectionLost: self.init(.notConnected, error.message)
        case .unsentPoints: self.init(.unsentPoints, error.message)
        case .tripUnderWay: self.init(.tripUnderWay, error.message)
        case .noTrip: self.init(.noTrip, error.message)
        default: self.init(.failed, error.message)
        }
    }

    /// The sentence to read.
    public var description: String { self.message }
}
