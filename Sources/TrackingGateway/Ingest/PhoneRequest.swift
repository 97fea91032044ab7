import HTTPTypes
import Hummingbird
import NIOCore
import TrackingCore

/// A phone's HTTP request before its records are decoded: the body, the program that sent it, and the trackable.
struct PhoneRequest {
    /// The body of the phone's HTTP request, after decompression.
    let body: [UInt8]
    /// The program that sent the request, such as OwnTracks.
    let client: PhoneClient
    /// The name of the program in the header `User-Agent`, at most 200 characters; empty without this header.
    let userAgent: String
    /// The trackable of the request, or the error if the request does not identify one.
    let trackable: Result<TrackableID, TrackingError>

    /// Reads the request of a caller that may publish.
    ///
    /// - Parameter client: The expected program, unless `User-Agent` or the body identifies another. NextBillion.ai's
    ///   SDK has a path of its own, which names the trackable, so it is always the program that is expected there.
    /// - Throws: `Problem` if the request has no caller, the caller may publish nothing or not the trackable in the
    ///   path or in `?device=`, the body is too large before or after decompression, or its compression is unknown or damaged.
    init(_ request: Request, _ context: GatewayRequestContext, as client: PhoneClient) async throws {
        guard let caller = context.caller else { throw Problem.unauthorized }
        guard caller.publishes != .only([]) else {
            throw Problem(
                .forbidden,
                "This token may not publish any trackable. Create a token with: godwit token create --publish ID")
        }
        let named = client == .nextBillion ? try context.publishableTrackable() : nil
        let limit = context.maxUploadSize
        let received = try await request.body(upTo: limit, context)
        let body = try Self.decompressed(Array(received.readableBytesView), request, limit)
        let userAgent = request.headers[.userAgent]
        self.body = body
        let reported = PhoneClient(userAgent: userAgent, body: body)
        self.client = reported == .other || named != nil ? client : reported
        self.userAgent = String((userAgent ?? "").prefix(200))
        let identity = Self.identity(request, body)
        self.trackable = Result { () throws(TrackingError) in
            if let named { return named }
            return try identity.trackable(of: caller.publishes)
        }
        if case .failure(let error) = self.trackable, error.code == .notAuthorized {
            throw Problem(.forbidden, "\(error.message). Create a token with: godwit token create --publish ID")
        }
    }

    private static func decompressed(_ body: [UInt8], _ request: Request, _ limit: Int) throws(Problem) -> [UInt8] {
        switch request.headers[.contentEncoding]?.lowercased() {
        case nil, "", "identity": return body
        case "gzip", "x-gzip", "deflate":
            do throws(Inflation.Failure) {
                return try Inflation.inflate(body, limit: limit)
            } catch {
                switch error {
                case .tooLarge:
                    throw Problem(
                        .contentTooLarge,
                        "The request's body is too large after decompression: at most \(limit) bytes are allowed. Send less in one request."
                    )
                case .damaged:
                    throw Problem(
                        .badRequest, "The request's body cannot be decompressed: its data is damaged or incomplete.")
                }
            }
        default:
            throw Problem(
                .unsupportedMediaType,
                "The Content-Encoding of the request's body is not supported: send gzip, deflate or no compression.")
        }
    }

    /// Returns the names by which a request identifies its trackable: from `?device=`, or OwnTracks' user and device in
    /// the query, in header fields, or in the topic that its iOS app adds to the body.
    private static func identity(_ request: Request, _ body: [UInt8]) -> PhoneIdentity {
        let query = request.uri.queryParameters
        var identity = PhoneIdentity()
        identity.select(device: query["device"].map { String($0) })
        identity.add(user: query["u"].map { String($0) }, device: query["d"].map { String($0) })
        identity.add(user: request.headers[.limitUser], device: request.headers[.limitDevice])
        let members = try? JSONParts.members(of: JSONParts.value(of: body[...]))
        identity.add(topic: members?["topic"].flatMap { try? JSONValue(json: $0).text })
        return identity
    }
}

extension HTTPField.Name {
    fileprivate static let limitUser = Self("X-Limit-U")!  // a valid name
    fileprivate static let limitDevice = Self("X-Limit-D")!  // a valid name
}
