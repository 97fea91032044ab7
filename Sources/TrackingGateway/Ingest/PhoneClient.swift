package import TrackingCore

/// The program that sends a request, as far as the answer depends on it (`docs/reference/phones.md`, "Answers").
package enum PhoneClient: Hashable, Sendable {
    /// Overland for iOS, in any mode: it shows the `error` of an answer with status 200 only.
    case overland
    /// OwnTracks: it expects a list, treats 2xx as delivered, and repeats the request without end after any other
    /// status.
    case ownTracks
    /// Overland's fork for Android, which treats any 2xx as delivered, and custom programs.
    case other

    /// Identifies the program by its name, or by the body if the name is missing or unknown.
    package init(userAgent: String?, body: [UInt8]) {
        self.init(userAgent: userAgent)
        guard self == .other else { return }
        let root = try? JSONParts.members(of: JSONParts.value(of: body[...]))
        self = root?["_type"] != nil ? .ownTracks : .other
    }

    /// Identifies the program by its name alone.
    init(userAgent: String?) {
        let name = userAgent?.lowercased() ?? ""
        self = name.hasPrefix("overland/") ? .overland : name.contains("owntracks") ? .ownTracks : .other
    }
}

/// The answer to a phone's request.
package struct PhoneAnswer: Hashable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The body, always JSON.
    package let body: JSONValue

    /// Returns the answer to a request whose records are safe: acknowledged as configured, or in quarantine.
    ///
    /// - Parameters:
    ///   - messages: Friends and commands for OwnTracks.
    ///   - settings: Settings for Overland to change.
    ///   - secret: The key of the answer to OwnTracks; `nil` for an answer that is not encrypted.
    package static func taken(
        _ batch: PhoneBatch, by client: PhoneClient, messages: [JSONValue] = [], settings: [String: JSONValue] = [:],
        secret: OwnTracksSecret? = nil
    ) -> PhoneAnswer {
        if client == .ownTracks { return PhoneAnswer(status: 200, body: Self.ownTracks(messages, secret)) }
        var body: [String: JSONValue] = [
            "result": .text("ok"), "saved": .number(Double(batch.records.count)),
            "refused": .number(Double(batch.refused.count)),
        ]
        if client == .overland, !settings.isEmpty { body["set"] = .object(settings) }
        return PhoneAnswer(status: 200, body: .object(body))
    }

    /// Returns a list of messages, encrypted as a whole, as the OwnTracks Recorder does and the apps expect.
    private static func ownTracks(_ messages: [JSONValue], _ secret: OwnTracksSecret?) -> JSONValue {
        let list = JSONValue.list(messages)
        guard let secret, !messages.isEmpty else { return list }
        return .object(["_type": .text("encrypted"), "data": .text(secret.seal(list.json))])
    }

    /// Returns the answer to a request that can never be read. OwnTracks would repeat it without end, so its answer is
    /// a success. The request is in quarantine.
    package static func unreadable(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error)
        case .ownTracks: self.taken(PhoneBatch(), by: client)
        case .other: self.failed(error.code == .payloadTooLarge ? 413 : 400, error)
        }
    }

    /// Returns the answer to a request that the phone should keep and repeat.
    package static func notTaken(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error)
        case .ownTracks, .other: self.failed(error.code == .invalidName ? 400 : 503, error)
        }
    }

    private static func failed(_ status: Int, _ error: TrackingError) -> PhoneAnswer {
        PhoneAnswer(status: status, body: .object(["error": .text(error.message)]))
    }
}
