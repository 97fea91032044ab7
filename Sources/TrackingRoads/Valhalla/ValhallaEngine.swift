public import TrackingCore
import TrackingHTTP
package import TrackingRuntime

/// The routing engine Valhalla, used over HTTP.
///
///     let engine = try ValhallaEngine(url: "http://127.0.0.1:8002")
///     let match = try await engine.match(request)
///
/// Any number of tasks can use one engine at the same time.
public final class ValhallaEngine: RoadEngine {
    /// The maximum size of an answer that the program reads, in bytes: 4 MiB. A longer answer is unusable.
    public static let maximumAnswerBytes = 4 * 1024 * 1024
    /// The default time limit for a request, with its answer: 2 s.
    public static let standardTimeout = Duration.seconds(2)

    /// The address of the engine, such as `http://127.0.0.1:8002`.
    public let url: String
    private let timeout: Duration
    private let client: HTTPClient

    /// Creates the connection to a Valhalla server. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - url: The address of the server: `http` or `https`, a host and a port, without a path.
    ///   - timeout: The time limit for a request, with its answer.
    /// - Throws: `invalidConfiguration` for an address of another form.
    public convenience init(
        url: String, timeout: Duration = ValhallaEngine.standardTimeout
    ) throws(TrackingError) {
        try self.init(url: url, timeout: timeout, on: nil)
    }

    /// Creates the connection to a Valhalla server, whose requests the thread of `loop` runs; `nil` for a thread of the
    /// engine.
    package init(
        url: String, timeout: Duration = ValhallaEngine.standardTimeout, on loop: (any SocketLoop)?
    ) throws(TrackingError) {
        guard Self.isAddress(url) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use the address of the routing engine: it must be http:// or https:// with a host and a port, such as http://127.0.0.1:8002"
            )
        }
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.timeout = timeout
        self.client = HTTPClient(on: loop)
    }

    /// Returns `true` for the address of a server: `http` or `https`, a host and perhaps a port, without a path.
    package static func isAddress(_ url: String) -> Bool {
        url.utf8.count <= 2048 && url.wholeMatch(of: #/https?:\/\/[^\/?#@\s]+\/?/#) != nil
    }

    /// Matches consecutive fixes of one trackable with roads, by the request `/trace_attributes`.
    public func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch {
        let answer = try await self.post("/trace_attributes", ValhallaTrace.body(request))
        guard let match = ValhallaTrace.match(answer, of: request) else { throw self.unusable }
        return match
    }

    /// Finds the fastest route from a position along all stops, by the request `/route`.
    public func route(_ request: RouteRequest) async throws(TrackingError) -> Route {
        let bytes = try await self.post("/route", ValhallaRoute.body(request).json)
        guard let answer = try? JSONValue(json: bytes, maximumBytes: Self.maximumAnswerBytes),
            let route = ValhallaRoute.route(answer, of: request)
        else { throw self.unusable }
        return route
    }

    private var unusable: TrackingError {
        TrackingError(
            .engineUnavailable,
            "the answer of the routing engine at \(self.url) is unusable: it does not fit the request. Check that the address is that of a Valhalla server"
        )
    }

    /// Sends a request and returns the JSON of its answer.
    private func post(_ path: String, _ body: [UInt8]) async throws(TrackingError) -> [UInt8] {
        let (status, bytes) = try await self.exchange(path, body)
        switch status {
        case 200: return bytes
        case 400:
            // Valhalla answers 400 to a request for which it finds no road, no path, or a too long path.
            let answer = try? JSONValue(json: bytes, maximumBytes: Self.maximumAnswerBytes)
            let reason = answer?["error"]?.text ?? "no reason"
            throw TrackingError(
                .noRoad, "the routing engine at \(self.url) found no road or no route: \(reason.prefix(200))")
        default:
            throw TrackingError(
                .engineUnavailable,
                "the routing engine at \(self.url) answered with HTTP status \(status). See its log for the cause")
        }
    }

    /// Sends a request and returns the status and the bytes of its answer, within the time limit.
    private func exchange(_ path: String, _ body: [UInt8]) async throws(TrackingError) -> (status: Int, bytes: [UInt8])
    {
        let request = HTTPClient.Request(
            self.url + path, method: .post, headers: [("Content-Type", "application/json")], body: body)
        let answer: HTTPClient.Answer
        do {
            answer = try await self.client.exchange(request, within: self.timeout, upTo: Self.maximumAnswerBytes)
        } catch {
            throw TrackingError(
                .engineUnavailable,
                "cannot reach the routing engine at \(self.url): \(error). Start the engine, and check its address")
        }
        guard let incompleteness = answer.incompleteness else { return (answer.status, answer.body) }
        let reason =
            incompleteness == .tooLong ? "has more than \(Self.maximumAnswerBytes) bytes" : "is incomplete"
        throw TrackingError(
            .engineUnavailable,
            "the answer of the routing engine at \(self.url) \(reason). See its log for the cause")
    }
}
