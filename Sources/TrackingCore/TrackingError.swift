/// The error type of all Godwit libraries. It has a code for programs, a message for people, and the source location.
///
/// The message names the operation, the value, the cause and the remedy. It never contains coordinates or credentials.
///
///     do {
///         try await publisher.flush()
///     } catch where error.code == .notAcknowledged {
///         // The recorder has not answered yet; sending continues.
///     }
public struct TrackingError: Error, Sendable, CustomStringConvertible {
    /// The code of an error, by which a program distinguishes the causes. Later minor versions may add codes.
    ///
    /// | code | cause | remedy |
    /// |---|---|---|
    /// | ``invalidName`` | A trackable id, client id, topic root, topic or filter violates a rule of the protocol. | Correct the name; the message states the rule. |
    /// | ``invalidPayload`` | A message or its payload does not have the format that its topic requires. | Correct or update the program that published the message. The message names the wrong member. |
    /// | ``payloadTooLarge`` | A payload exceeds the protocol's limit of 128 KB, or a smaller limit for this kind of message. Or one call has more records than it may have. | Send less in one message or call. |
    /// | ``invalidConfiguration`` | A setting or argument is outside its documented range. | Correct the value; the message states the range. |
    /// | ``brokerUnreachable`` | No connection to the broker could be made. | Check host, port and network. Publishers, subscribers and recorders try again by themselves. |
    /// | ``connectionLost`` | An existing connection to the broker ended. | None; publishers, subscribers and recorders connect again by themselves. |
    /// | ``badCredentials`` | The broker rejected the user name, password or client certificate (MQTT 5: 0x86). | Correct the credentials. |
    /// | ``notAuthorized`` | The broker's rules forbid the connection, topic or filter (MQTT 5: 0x87). | Grant the right at the broker. |
    /// | ``refused`` | The broker rejected a request for a reason that has no code of its own here. The error message states the reason. | Follow the reason; `reasonCode` contains the broker's code. |
    /// | ``takenOver`` | Another program uses the same client id, another publisher owns the trackable, or another forwarder took the history over. | Stop one of the two, or give each a client id of its own. |
    /// | ``certificateExpired`` | The broker's certificate has expired or is not valid yet. | Renew the certificate; check the device's clock. |
    /// | ``certificateHostMismatch`` | The broker's certificate was issued for another host. | Connect by a name in the certificate. |
    /// | ``certificateUnknownAuthority`` | The broker's certificate was signed by an authority that this program does not trust. | Name the authority's certificate in the TLS settings. |
    /// | ``tlsFailed`` | The TLS handshake failed for another reason. | Check the TLS settings of both sides; the message contains the library's reason. |
    /// | ``inputUnreadable`` | A file, device, socket or receiver cannot be read. | Check path, permissions and format. |
    /// | ``agentUnreachable`` | No agent, the publisher program on the device, answers on its control socket. | Start the agent, or name its socket. |
    /// | ``stopped`` | The called object was stopped or closed before it completed the call, the call was cancelled, or the trackable of the call is not tracked any more. | Open the object again, or track the trackable again; then repeat the call. |
    /// | ``spoolFailed`` | The durable log cannot do what was asked: the disk is full or fails, another program has the log open, the file is no log of this version, or a quarantined record was retried or dropped meanwhile. | Follow the message: free disk space, end the other program, or list the quarantine again. |
    /// | ``spoolDamaged`` | The durable log is damaged. | Close and open it: the readable records are recovered. |
    /// | ``storeFailed`` | The history cannot be read or written: the database is full or unreachable, the history file was removed or replaced, or the history was opened for reading only. | Follow the message. A full or unreachable database: try again later. A removed file: put the file back, or start the program again. |
    /// | ``storeBusy`` | The history file stayed locked, because another program has been writing to it for too long. | Try again later. |
    /// | ``storeForbidden`` | The database server denies this operation to the user. | Grant the right in the database, then try again. |
    /// | ``storeRefused`` | The history rejects the content of a record. | None by repetition; the record is quarantined. |
    /// | ``storeUnusable`` | The history is damaged, has a newer version, or is another kind of database. | Update the program, or restore the database. |
    /// | ``engineUnavailable`` | The routing engine cannot be reached, did not answer in time, or its answer is unusable. | Start the engine and check its address; the message contains the reason. |
    /// | ``noRoad`` | The routing engine knows no road for the fixes, or no route to the stop. | Use a map that contains the region, and a profile that may use its roads. |
    /// | ``tripUnderWay`` | A trip cannot start while another one is in progress. | Stop the current trip first. |
    /// | ``noTrip`` | No trip is in progress that could be stopped. | Start a trip first. |
    /// | ``unsentPoints`` | There are points of a trackable that were not sent yet, and the operation requires that there are none. | Send or clear them first. |
    /// | ``notAcknowledged`` | A recorder has not acknowledged all records in time. Sending continues. | Check that the recorder runs and its history is usable. |
    /// | ``overloaded`` | More requests are in progress than the called component accepts. | Try again a little later. |
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case invalidName, invalidPayload, payloadTooLarge, invalidConfiguration
            case brokerUnreachable, connectionLost, badCredentials, notAuthorized, refused, takenOver
            case certificateExpired, certificateHostMismatch, certificateUnknownAuthority, tlsFailed
            case inputUnreadable, agentUnreachable, stopped
            case spoolFailed, spoolDamaged
            case storeFailed, storeBusy, storeForbidden, storeRefused, storeUnusable
            case engineUnavailable, noRoad
            case tripUnderWay, noTrip, unsentPoints
            case notAcknowledged, overloaded
        }
        private let base: Base
        private init(_ base: Base) { self.base = base }

        /// The name of the error code, for logs.
        public var description: String { self.base.rawValue }

        /// A trackable id, client id, topic root, topic or filter violates a rule of the protocol.
        public static var invalidName: Self { .init(.invalidName) }
        /// A message or its payload does not have the format that its topic requires.
        public static var invalidPayload: Self { .init(.invalidPayload) }
        /// A payload exceeds the protocol's limit of 128 KB, or a smaller limit for this kind of message. Or one call has
        /// more records than it may have.
        public static var payloadTooLarge: Self { .init(.payloadTooLarge) }
        /// A setting or argument is outside its documented range.
        public static var invalidConfiguration: Self { .init(.invalidConfiguration) }
        /// No connection to the broker could be made.
        public static var brokerUnreachable: Self { .init(.brokerUnreachable) }
        /// An existing connection to the broker ended.
        public static var connectionLost: Self { .init(.connectionLost) }
        /// The broker rejected the user name, password or client certificate (MQTT 5: 0x86).
        public static var badCredentials: Self { .init(.badCredentials) }
        /// The broker's rules forbid the connection, topic or filter (MQTT 5: 0x87).
        public static var notAuthorized: Self { .init(.notAuthorized) }
        /// The broker rejected a request for a reason that no other error code describes. The error message states the
        /// reason.
        public static var refused: Self { .init(.refused) }
        /// Another program uses the same client id, or another publisher owns the trackable.
        public static var takenOver: Self { .init(.takenOver) }
        /// The broker's certificate has expired or is not valid yet.
        public static var certificateExpired: Self { .init(.certificateExpired) }
        /// The broker's certificate was issued for another host.
        public static var certificateHostMismatch: Self { .init(.certificateHostMismatch) }
        /// The broker's certificate was signed by an authority that this program does not trust.
        public static var certificateUnknownAuthority: Self { .init(.certificateUnknownAuthority) }
        /// The TLS handshake failed for a reason other than an expired, mismatched or untrusted certificate.
        public static var tlsFailed: Self { .init(.tlsFailed) }
        /// A file, device, socket or receiver cannot be read.
        public static var inputUnreadable: Self { .init(.inputUnreadable) }
        /// The device's log of records cannot do what was asked. The disk is full or fails, another program has the log
        /// open, the file is no log of this version, or a quarantined record was retried or dropped meanwhile.
        public static var spoolFailed: Self { .init(.spoolFailed) }
        /// The device's log of records is damaged.
        public static var spoolDamaged: Self { .init(.spoolDamaged) }
        /// The history, a recorder's database, cannot be read or written: it is full or unreachable, its file was removed
        /// or replaced, or it was opened for reading only.
        public static var storeFailed: Self { .init(.storeFailed) }
        /// The history file, a recorder's database, stayed locked, because another program has been writing to it for
        /// too long.
        public static var storeBusy: Self { .init(.storeBusy) }
        /// The database server of a history denies an operation to the database user.
        public static var storeForbidden: Self { .init(.storeForbidden) }
        /// The history, a recorder's database, rejects the content of a record.
        public static var storeRefused: Self { .init(.storeRefused) }
        /// The history, a recorder's database, is damaged, has a newer version, or is another kind of database.
        public static var storeUnusable: Self { .init(.storeUnusable) }
        /// The routing engine cannot be reached, did not answer in time, or its answer is unusable.
        public static var engineUnavailable: Self { .init(.engineUnavailable) }
        /// The routing engine knows no road for the fixes, or no route to the stop.
        public static var noRoad: Self { .init(.noRoad) }
        /// A trip cannot start while another one is in progress.
        public static var tripUnderWay: Self { .init(.tripUnderWay) }
        /// No trip is in progress that could be stopped.
        public static var noTrip: Self { .init(.noTrip) }
        /// There are points of a trackable that were not sent yet, and the operation requires that there are none.
        public static var unsentPoints: Self { .init(.unsentPoints) }
        /// A recorder has not acknowledged all records within the permitted time. Sending continues.
        public static var notAcknowledged: Self { .init(.notAcknowledged) }
        /// More requests are in progress than the called component accepts.
        public static var overloaded: Self { .init(.overloaded) }
        /// No agent, the publisher program on the device, answers on its control socket.
        public static var agentUnreachable: Self { .init(.agentUnreachable) }
        /// The called object was stopped or closed before it completed the call, the call was cancelled, or the trackable of
        /// the call is not tracked any more.
        public static var stopped: Self { .init(.stopped) }
    }

    /// The code of this error, for programs to compare.
    public let code: Code
    /// The message of the error, for people to read.
    public let message: String
    /// The broker's reason code in the numbering of MQTT 5; `nil` when the broker sent none.
    public let reasonCode: UInt8?
    /// `true` when the broker rejected a topic or filter as invalid (MQTT 5: 0x8F, 0x90). A repetition of the request
    /// would be rejected too.
    public var isNameRefusal: Bool { self.reasonCode == 0x8F || self.reasonCode == 0x90 }
    /// `true` when a message was rejected because of its content or size: the code is
    /// ``TrackingError/Code/payloadTooLarge``, or the broker's reason code is 0x99 or 0x83 (MQTT 5). Other messages on
    /// the same topic may be accepted. However, some brokers return 0x83 for every message while they fail.
    public var isContentRefusal: Bool {
        self.code == .payloadTooLarge || self.reasonCode == 0x99 || self.reasonCode == 0x83
    }
    /// `true` when the broker rejected the client's id, credentials or rights, or has banned the client (MQTT 5: 0x85,
    /// 0x8A). Repeating the request soon does not help.
    public var isIdentityRefusal: Bool {
        switch self.code {
        case .badCredentials, .notAuthorized: true
        default: self.reasonCode == 0x85 || self.reasonCode == 0x8A
        }
    }
    /// The source file of the code that created the error.
    public let file: StaticString
    /// The line in the source file in which the error was made.
    public let line: UInt

    /// Makes an error. The compiler supplies `file` and `line`.
    ///
    /// - Parameters:
    ///   - code: The code, for programs to compare.
    ///   - message: The message for people, in lower case. It names operation, value, cause and remedy, without
    ///     coordinates or credentials.
    ///   - reasonCode: The broker's reason code in the numbering of MQTT 5; `nil` when the broker sent none.
    ///   - file: The source file in which the error is made.
    ///   - line: The line in that file.
    public init(
        _ code: Code, _ message: String, reasonCode: UInt8? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.reasonCode = reasonCode
        self.file = file
        self.line = line
    }

    /// The text of the error where it is printed: its message, without the code and the source location.
    public var description: String { self.message }
}

extension TrackingError: Equatable {
    /// Returns `true` when code, message and reason code are equal. The source location is ignored.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.reasonCode == right.reasonCode
    }
}
