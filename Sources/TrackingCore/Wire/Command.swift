/// An instruction to a publisher from an operator or from a person at the device (topic `command`).
public struct Command: Hashable, Sendable {
    /// A random UUID of 1 to 64 bytes. The answer repeats it, and a publisher executes the same id only once.
    public var id: String
    /// The instruction.
    public var name: Name
    /// The time at which the command was issued, by the issuer's clock.
    public var time: UnixTime
    /// The time after which the command must not be executed; `nil` for 60 s after ``time``.
    public var expires: UnixTime?
    /// The arguments of the instruction, by name.
    public var arguments: [String: JSONValue]

    /// The maximum size of an encoded command in bytes: 16 KiB.
    public static let maximumBytes = 16_384
    /// The time for which a command without `expires` is valid: 60 s.
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

    /// The time after which the command must not be executed.
    public var deadline: UnixTime { self.expires ?? self.time.advanced(by: Self.standardLife) }

    /// The name of an instruction: one of the constants here, or a word of a later version.
    public struct Name: Hashable, Sendable, RawRepresentable {
        /// The word in the message.
        public let rawValue: String
        /// Makes a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Publish a fix now.
        public static let report = Name(rawValue: "REPORT")
        /// Send one batch of pending records now.
        public static let sendNow = Name(rawValue: "SEND_NOW")
        /// Send all pending records.
        public static let flush = Name(rawValue: "FLUSH")
        /// Begin a trip. Argument: `mode`.
        public static let startTrip = Name(rawValue: "START_TRIP")
        /// End the current trip.
        public static let stopTrip = Name(rawValue: "STOP_TRIP")
        /// Resume sampling and sending after ``off``.
        public static let on = Name(rawValue: "ON")
        /// Stop sampling and sending, and withdraw the presence. The log is preserved.
        public static let off = Name(rawValue: "OFF")
        /// Change settings. Each argument is a setting's key with its new value.
        public static let configure = Name(rawValue: "CONFIGURE")
        /// Track this trackable and stop tracking all others. Arguments: `trackable`, `destination`.
        public static let track = Name(rawValue: "TRACK")
        /// Track this trackable in addition. Arguments: `trackable`, `destination`.
        public static let add = Name(rawValue: "ADD")
        /// Stop tracking this trackable. Argument: `trackable`.
        public static let remove = Name(rawValue: "REMOVE")
        /// Set or remove the destination of a trackable. Arguments: `trackable`, `destination`.
        public static let destination = Name(rawValue: "DESTINATION")
    }
}

/// The result of a command. It is the detail of an event of kind COMMAND, and the payload of a message on a response
/// topic.
public struct CommandAnswer: Hashable, Sendable {
    /// The id of the command that is answered.
    public var id: String
    /// The result of the command as named values, or the reason why the command was not executed.
    public var outcome: Result<[String: JSONValue], CommandFailure>

    /// Makes an answer.
    public init(id: String, outcome: Result<[String: JSONValue], CommandFailure>) {
        self.id = id
        self.outcome = outcome
    }
}

/// The reason why a command was not executed: a code to match and a message to read, without coordinates or
/// credentials.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code to match. Later versions may add codes.
    public struct Code: Hashable, Sendable, RawRepresentable {
        /// The word in the message.
        public let rawValue: String
        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The publisher has no such command.
        public static let unknownCommand = Code(rawValue: "UNKNOWN_COMMAND")
        /// An argument is missing, of the wrong kind or out of its range.
        public static let invalidArguments = Code(rawValue: "INVALID_ARGUMENTS")
        /// The publisher does not accept this command from this sender.
        public static let notAllowed = Code(rawValue: "NOT_ALLOWED")
        /// The agent does not track this trackable.
        public static let unknownTrackable = Code(rawValue: "UNKNOWN_TRACKABLE")
        /// A trip is in progress already.
        public static let tripUnderWay = Code(rawValue: "TRIP_UNDER_WAY")
        /// No trip is in progress.
        public static let noTrip = Code(rawValue: "NO_TRIP")
        /// Points of the trackable are not sent yet.
        public static let unsentPoints = Code(rawValue: "UNSENT_POINTS")
        /// The agent is switched off.
        public static let isOff = Code(rawValue: "OFF")
        /// There is no connection to the broker.
        public static let notConnected = Code(rawValue: "NOT_CONNECTED")
        /// Too many commands are executed at once.
        public static let busy = Code(rawValue: "BUSY")
        /// Another failure, which the message describes.
        public static let failed = Code(rawValue: "FAILED")
    }

    /// The code of the failure, to match.
    public var code: Code
    /// The description of the failure, to read. At most 1,000 bytes of it are encoded.
    public var message: String

    /// Makes a failure of a command.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes a failure from a library's error.
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

    /// The message.
    public var description: String { self.message }
}
