package import TrackingCore

/// The program that sends a phone's HTTP request, as far as the answer depends on it (`docs/reference/phones.md`,
/// "Answers").
package enum PhoneClient: Hashable, Sendable {
    /// Overland for iOS, in any mode. It shows the `error` of an answer only if the status is 200.
    case overland
    /// OwnTracks. It expects a list, treats 2xx as delivered, and repeats the request endlessly after any other status.
    case ownTracks
    /// NextBillion.ai's SDK. It reads the members `status` and `message` of every answer.
    case nextBillion
    /// Any other program, such as Overland's fork for Android, which treats any 2xx as delivered.
    case other

    /// Identifies the program by the header `User-Agent`, or by the body if the header is missing or unknown.
    package init(userAgent: String?, body: [UInt8]) {
        self.init(userAgent: userAgent)
        guard self == .other else { return }
        let root = try? JSONParts.members(of: JSONParts.value(of: body[...]))
        self = root?["_type"] != nil ? .ownTracks : .other
    }

    /// Identifies the program that sent a phone's HTTP request by the header `User-Agent` only.
    init(userAgent: String?) {
        let name = userAgent?.lowercased() ?? ""
        self = name.hasPrefix("overland/") ? .overland : name.contains("owntracks") ? .ownTracks : .other
    }
}

/// The HTTP answer to a phone's request.
package struct PhoneAnswer: Hashable, Sendable {
    /// The HTTP status of the answer to a phone's request.
    package let status: Int
    /// The body of the answer to a phone's request, always JSON.
    package let body: JSONValue

    /// Returns the answer to a phone's request that was accepted. Its records are durable, and its invalid pieces are
    /// in the quarantine.
    ///
    /// - Parameters:
    ///   - batch: The contents of the request.
    ///   - client: The program that sent the request.
    ///   - messages: Friends (positions of other trackables) and commands for OwnTracks.
    ///   - settings: Settings for Overland to change.
    ///   - secret: The key with which the answer to OwnTracks is encrypted; `nil` for an answer that is not encrypted.
    package static func taken(
        _ batch: PhoneBatch, by client: PhoneClient, messages: [JSONValue] = [], settings: [String: JSONValue] = [:],
        secret: OwnTracksSecret? = nil
    ) -> PhoneAnswer {
        if client == .ownTracks { return PhoneAnswer(status: 200, body: Self.ownTracks(messages, secret)) }
        if client == .nextBillion { return PhoneAnswer(status: 200, body: NextBillionInterface.success) }
        var body: [String: JSONValue] = [
            "result": .text("ok"), "saved": .number(Double(batch.records.count)),
            "refused": .number(Double(batch.refused.count)),
        ]
        if client == .overland, !settings.isEmpty { body["set"] = .object(settings) }
        return PhoneAnswer(status: 200, body: .object(body))
    }

    /// Returns a list of messages for OwnTracks. With a key, a list that is not empty is encrypted as a whole, as the
    /// OwnTracks Recorder does and the apps expect.
    private static func ownTracks(_ messages: [JSONValue], _ secret: OwnTracksSecret?) -> JSONValue {
        let list = JSONValue.list(messages)
        guard let secret, !messages.isEmpty else { return list }
        return .object(["_type": .text("encrypted"), "data": .text(secret.seal(list.json))])
    }

    /// Returns the answer to a phone's request with a body that cannot be decoded. The body is in the quarantine.
    /// OwnTracks gets an answer of success, because it would otherwise repeat the request endlessly.
    package static func unreadable(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error, by: client)
        case .ownTracks: self.taken(PhoneBatch(), by: client)
        case .nextBillion, .other: self.failed(error.code == .payloadTooLarge ? 413 : 400, error, by: client)
        }
    }

    /// Returns the answer to a phone's request that was not saved, so that the phone keeps its records and repeats the
    /// request.
    package static func notTaken(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error, by: client)
        case .ownTracks, .nextBillion, .other:
            self.failed(error.code == .invalidName ? 400 : 503, error, by: client)
        }
    }

    private static func failed(_ status: Int, _ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        let body =
            client == .nextBillion
            ? NextBillionInterface.failure(status, error.message) : .object(["error": .text(error.message)])
        return PhoneAnswer(status: status, body: body)
    }
}
