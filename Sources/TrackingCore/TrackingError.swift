/// The one error of every Godwit library: a code to match, a sentence to read, a place to look.
///
/// Neither coordinates nor credentials ever appear in `message`.
public struct TrackingError: Error, Sendable, CustomStringConvertible {
    /// The stable, matchable part. New codes may appear in minor releases.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case invalidName, invalidPayload, payloadTooLarge, invalidConfiguration
            case brokerUnreachable, connectionLost, badCredentials, notAuthorized, refused, takenOver
            case certificateExpired, certificateHostMismatch, certificateUnknownAuthority, tlsFailed
            case inputUnreadable, agentUnreachable, stopped
            case spoolFailed, spoolDamaged
            case storeFailed, storeBusy, storeForbidden, storeRefused, storeUnusable
            case tripUnderWay, noTrip, unsentPoints
            case notAcknowledged, overloaded
        }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The code's name, for logs.
        public var description: String { self.base.rawValue }

        /// A trackable id, client id, topic root, topic or filter that breaks a rule of the protocol.
        public static var invalidName: Self { .init(.invalidName) }
        /// Bytes that are not the message their topic calls for.
        public static var invalidPayload: Self { .init(.invalidPayload) }
        /// A payload above the protocol's limit of 128 KB.
        public static var payloadTooLarge: Self { .init(.payloadTooLarge) }
        /// A value outside its documented range.
        public static var invalidConfiguration: Self { .init(.invalidConfiguration) }
        /// No connection could be made.
        public static var brokerUnreachable: Self { .init(.brokerUnreachable) }
        /// A connection that stood is gone.
        public static var connectionLost: Self { .init(.connectionLost) }
        /// The broker refused the user name or password (MQTT 5: 0x86).
        public static var badCredentials: Self { .init(.badCredentials) }
        /// The broker's rules forbid it (MQTT 5: 0x87).
        public static var notAuthorized: Self { .init(.notAuthorized) }
        /// The broker refused for another reason, which the message names.
        public static var refused: Self { .init(.refused) }
        /// Another program uses the same client id.
        public static var takenOver: Self { .init(.takenOver) }
        /// The broker's certificate has expired or is not yet valid.
        public static var certificateExpired: Self { .init(.certificateExpired) }
        /// The broker's certificate is for another host.
        public static var certificateHostMismatch: Self { .init(.certificateHostMismatch) }
        /// The broker's certificate was signed by an authority that is not trusted here.
        public static var certificateUnknownAuthority: Self { .init(.certificateUnknownAuthority) }
        /// Any other failure of the TLS handshake.
        public static var tlsFailed: Self { .init(.tlsFailed) }
        /// A file, device or receiver that cannot be read.
        public static var inputUnreadable: Self { .init(.inputUnreadable) }
        /// The durable log cannot be read or written: the disk is full or fails. A later attempt may succeed.
        public static var spoolFailed: Self { .init(.spoolFailed) }
        /// The durable log is damaged: close it and open it again, and what is whole is taken over.
        public static var spoolDamaged: Self { .init(.spoolDamaged) }
        /// The history cannot be read or written: the database is full or away. A later attempt may succeed.
        public static var storeFailed: Self { .init(.storeFailed) }
        /// Another program writes the history, in a file, for longer than is waited: a later attempt succeeds.
        public static var storeBusy: Self { .init(.storeBusy) }
        /// The history's server does not let this user do it: a later attempt succeeds once somebody has granted it.
        public static var storeForbidden: Self { .init(.storeForbidden) }
        /// The history refuses what a record is: trying the same again cannot help.
        public static var storeRefused: Self { .init(.storeRefused) }
        /// The history is damaged, of a newer version, or something else: trying again cannot help.
        public static var storeUnusable: Self { .init(.storeUnusable) }
        /// A trip cannot be started while one is under way.
        public static var tripUnderWay: Self { .init(.tripUnderWay) }
        /// There is no trip to stop.
        public static var noTrip: Self { .init(.noTrip) }
        /// Points of a trackable are not sent yet.
        public static var unsentPoints: Self { .init(.unsentPoints) }
        /// A recorder that is waited for has not acknowledged records yet; they are tried on.
        public static var notAcknowledged: Self { .init(.notAcknowledged) }
        /// More is under way than is taken in together: it is to be tried again a little later.
        public static var overloaded: Self { .init(.overloaded) }
        /// No agent listens on the control socket, or it does not answer.
        public static var agentUnreachable: Self { .init(.agentUnreachable) }
        /// The component was stopped.
        public static var stopped: Self { .init(.stopped) }
    }

    /// What went wrong, to match on.
    public let code: Code
    /// What, where and what to do about it, to read.
    public let message: String
    /// The broker's own reason code where it gave one (MQTT 5 numbering).
    public let reasonCode: UInt8?
    /// Whether the broker refused the name itself (MQTT 5: 0x8F, 0x90): trying again can not help.
    public var isNameRefusal: Bool { self.reasonCode == 0x8F || self.reasonCode == 0x90 }
    /// Whether the broker refused what a message says or how large it is (MQTT 5: 0x95, 0x99, 0x83), and not its topic: the next
    /// may be taken. A broker in trouble may say 0x83 of everything.
    public var isContentRefusal: Bool {
        self.code == .payloadTooLarge || self.reasonCode == 0x99 || self.reasonCode == 0x83
    }
    /// Whether the broker refused who this client is, its name, password or rights: no use in asking again soon.
    public var isAboutWhoWeAre: Bool {
        switch self.code {
        case .badCredentials, .notAuthorized: true
        default: self.reasonCode == 0x85 || self.reasonCode == 0x8A
        }
    }
    /// Where in the source the error was made.
    public let file: StaticString
    /// The line in `file`.
    public let line: UInt

    /// Makes an error; `file` and `line` are filled in by the compiler.
    public init(
        _ code: Code, _ message: String, reasonCode: UInt8? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.reasonCode = reasonCode
        self.file = file
        self.line = line
    }

    /// The sentence to read.
    public var description: String { self.message }
}

extension TrackingError: Equatable {
    /// Two errors are equal when code, message and reason are; where they were made does not matter.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.reasonCode == right.reasonCode
    }
}
