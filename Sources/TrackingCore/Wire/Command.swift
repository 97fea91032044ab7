/// An instruction to a publisher, from an operator through the broker or from a person at the device. Its MQTT topic is
/// `command`.
public struct Command: Hashable, Sendable {
    /// The command's id: a random UUID, or any other text of 1 to 64 bytes. The publisher's answer contains the same
    /// id. The publisher executes no command whose id it remembers from an earlier one.
    public var id: String
    /// The name of the instruction that an operator sends to the publisher, such as `REPORT`.
    public var name: Name
    /// The time at which the command was issued, by the issuer's clock.
    public var time: UnixTime
    /// The time after which the publisher must not execute the command; `nil` for 60 s after ``time``.
    public var expires: UnixTime?
    /// The arguments of the command, by name.
    public var arguments: [String: JSONValue]

    /// The maximum size of an encoded command in bytes: 16 KiB.
    public static let maximumBytes = 16_384
    /// The time for which a command without `expires` is valid: 60 s.
    public static let standardLife: Duration = .seconds(60)

    /// Makes a command to a publisher from its id, its name, the time of its issue, its expiry, and its arguments.
    public init(
        id: String, name: Name, time: UnixTime, expires: UnixTime? = nil, arguments: [String: JSONValue] = [:]
    ) {
        self.id = id
        self.name = name
        self.time = time
        self.expires = expires
        self.arguments = arguments
    }

    /// The time after which the publisher must not execute the command: ``expires``, or 60 s after ``time`` when
    /// ``expires`` is `nil`.
    public var deadline: UnixTime { self.expires ?? self.time.advanced(by: Self.standardLife) }

    /// The name of an instruction: one of the constants here, or another word that a later version defines.
    public struct Name: Hashable, Sendable, RawRepresentable {
        /// The name of the instruction as it is written in the command message, such as `REPORT`.
        public let rawValue: String
        /// Makes the name of an instruction from its word in the message.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Makes the name of an instruction as people type it: `start-trip` is `START_TRIP`.
        package init(typed text: String) {
            self.rawValue = text.uppercased().replacing("-", with: "_")
        }

        /// Take a fix now and publish it as the current position.
        public static let report = Name(rawValue: "REPORT")
        /// Send one batch of each trackable's pending records now. A record is pending until it is acknowledged.
        public static let sendNow = Name(rawValue: "SEND_NOW")
        /// Send all pending records now. A record is pending until it is acknowledged.
        public static let flush = Name(rawValue: "FLUSH")
        /// Begin a trip. Argument: `mode`, the mode of travel, such as `car`.
        public static let startTrip = Name(rawValue: "START_TRIP")
        /// End the trip that is in progress.
        public static let stopTrip = Name(rawValue: "STOP_TRIP")
        /// Resume measuring and sending positions after ``off``.
        public static let on = Name(rawValue: "ON")
        /// Stop measuring and sending positions, and clear the retained presence. The log of records on the device is
        /// preserved.
        public static let off = Name(rawValue: "OFF")
        /// Change settings of the publisher. The name of each argument is the key of a setting, and its value the new
        /// value.
        public static let configure = Name(rawValue: "CONFIGURE")
        /// Track the trackable that the argument names, and stop tracking all others. Arguments: `trackable`,
        /// `destination`.
        public static let track = Name(rawValue: "TRACK")
        /// Track the trackable that the argument names, in addition to those tracked already. Arguments: `trackable`,
        /// `destination`.
        public static let add = Name(rawValue: "ADD")
        /// Stop tracking the trackable that the argument names. Argument: `trackable`.
        public static let remove = Name(rawValue: "REMOVE")
        /// Set or remove the destination of a trackable. Arguments: `trackable`, `destination`.
        public static let destination = Name(rawValue: "DESTINATION")
    }
}

/// The answer of a publisher to a command. It is sent to the response topic of the command, and in an event of kind
/// COMMAND.
public struct CommandAnswer: Hashable, Sendable {
    /// The id of the answered command.
    public var id: String
    /// The result of the command as named values, or the reason why the command was not executed.
    public var outcome: Result<[String: JSONValue], CommandFailure>

    /// Makes a publisher's answer to the command with this id: its result, or the reason why it was not executed.
    public init(id: String, outcome: Result<[String: JSONValue], CommandFailure>) {
        self.id = id
        self.outcome = outcome
    }
}

/// The reason why a command was not executed. It has a code for programs and a message for people. Neither contains
/// coordinates or credentials.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The code of a command's failure, by which programs distinguish the causes. Later versions may add codes.
    public struct Code: Hashable, Sendable, RawRepresentable {
        /// The failure code as it is written in the answer to a command, such as `BUSY`.
        public let rawValue: String
        /// Makes a failure code from its word in the answer to a command.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The failure code for a command whose name the publisher does not know.
        public static let unknownCommand = Code(rawValue: "UNKNOWN_COMMAND")
        /// The failure code for a command with an argument that is missing, of the wrong kind or out of its range.
        public static let invalidArguments = Code(rawValue: "INVALID_ARGUMENTS")
        /// The failure code for a command that is not permitted in this way, for example through the broker, or with
        /// the trackable or value that its arguments name.
        public static let notAllowed = Code(rawValue: "NOT_ALLOWED")
        /// The failure code for a command about a trackable that the publisher does not track.
        public static let unknownTrackable = Code(rawValue: "UNKNOWN_TRACKABLE")
        /// The failure code for a command to begin a trip while a trip is in progress already.
        public static let tripUnderWay = Code(rawValue: "TRIP_UNDER_WAY")
        /// The failure code for a command to end the trip while no trip is in progress.
        public static let noTrip = Code(rawValue: "NO_TRIP")
        /// The failure code for a command that would stop the tracking of a trackable with unsent points. Send or clear
        /// these points first.
        public static let unsentPoints = Code(rawValue: "UNSENT_POINTS")
        /// The failure code for a command that needs a publisher which is on. A publisher that is off neither measures
        /// nor sends positions.
        public static let isOff = Code(rawValue: "OFF")
        /// The failure code for a command that needs a connection to the broker while the publisher has none.
        public static let notConnected = Code(rawValue: "NOT_CONNECTED")
        /// The failure code for a command that arrives while too many commands or clients wait or are being served.
        public static let busy = Code(rawValue: "BUSY")
        /// The failure code for any failure without a code of its own. The message describes the failure.
        public static let failed = Code(rawValue: "FAILED")
    }

    /// The code of the command's failure, for programs.
    public var code: Code
    /// The description of the failure, for people. An encoded answer contains at most 1,000 bytes of it.
    public var message: String

    /// Makes the reason why a command was not executed, from its code for programs and its message for people.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes a failure of a command from an error of the Godwit library. An error for which there is no failure code
    /// becomes `FAILED`.
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

    /// The description of the failure, the same as ``message``.
    public var description: String { self.message }
}
