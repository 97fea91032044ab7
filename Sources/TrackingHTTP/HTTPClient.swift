package import TrackingRuntime

/// Sends HTTP requests with libcurl, over HTTP/1.1 or HTTP/2, and with TLS 1.2 or newer.
///
///     let client = HTTPClient()
///     let answer = try await client.exchange(
///         HTTPClient.Request("https://example.org/hook", method: .post, body: body), within: .seconds(10), upTo: 65_536)
///
/// Connections are kept open for later requests. Redirects are not followed, and proxies of the environment are not
/// used, so a request reaches only the server of its address. Any number of tasks can use one client at the same time.
///
/// The client has a thread of its own, unless it is given the loop of another thread. A task on that thread sends requests
/// and receives their answers without a change of threads.
package final class HTTPClient: Sendable {
    /// The method of a request.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    /// A request to a server.
    package struct Request: Sendable {
        /// The address: `http` or `https`, a host, and perhaps a port, a path and a query.
        package var url: String
        package var method: Method
        /// The names and values of the headers, in order.
        package var headers: [(name: String, value: String)]
        /// The body; empty for none.
        package var body: [UInt8]

        /// Creates a request.
        package init(
            _ url: String, method: Method = .get, headers: [(name: String, value: String)] = [], body: [UInt8] = []
        ) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
        }
    }

    /// The answer of a server.
    package struct Answer: Sendable {
        /// The HTTP status, such as 200.
        package var status: Int
        /// The body, or its beginning.
        package var body: [UInt8]
        /// The reason for which ``body`` is only a beginning; `nil` for a complete body.
        package var incompleteness: Incompleteness?
        /// The wait that the server requests in the header `Retry-After`; zero for none.
        package var retryAfter: Duration
    }

    /// The reason for an incomplete body.
    package enum Incompleteness: Hashable, Sendable {
        /// The body has more bytes than the caller accepts.
        case tooLong
        /// The connection or the time ended within the body.
        case cut
    }

    /// The reason for a missing answer, in words.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    private let transfers: TransferLoop

    /// Loads libcurl, as the first client does.
    ///
    /// - Throws: A failure with the remedy if the library is missing. The requests of every client then fail with it.
    package static func load() throws(Failure) {
        if let reason = TransferLoop.loadingError { throw Failure(description: reason) }
    }

    /// Creates a client without a connection.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host. Further requests wait, within their time
    ///     limits.
    ///   - loop: The loop whose thread runs the requests; `nil` for a thread of the client.
    package init(connectionsPerHost: Int = 8, on loop: (any SocketLoop)? = nil) {
        self.transfers = TransferLoop(connectionsPerHost: connectionsPerHost, on: loop)
    }

    deinit { self.transfers.close() }

    /// Sends a request and returns the answer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The time limit for the whole exchange, with the connection and the answer.
    ///   - maximumBytes: The number of bytes of the body that are read. A longer body is incomplete.
    /// - Throws: A failure if the server cannot be reached, sends no status in time, or the task is cancelled.
    package func exchange(
        _ request: Request, within limit: Duration, upTo maximumBytes: Int
    ) async throws(Failure) -> Answer {
        let transfer = Transfer(request, within: limit, upTo: maximumBytes)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { self.transfers.begin(transfer, $0) }
        } onCancel: {
            self.transfers.cancel(transfer)
        }
        return try result.get()
    }
}
