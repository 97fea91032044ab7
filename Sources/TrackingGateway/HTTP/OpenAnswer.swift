import Hummingbird
import HummingbirdCore
import NIOCore

/// The rest of an HTTP answer that is still being written after the route has returned, such as a live stream. The code
/// that began the answer throws this value. The task of the connection catches it and writes the rest.
///
/// This saves memory. A task keeps the memory of its deepest call until it ends, and the task of a connection lives
/// long. Therefore a separate, short task runs each route, and the task of the connection only writes the rest.
struct OpenAnswer: Error {
    private let write: @concurrent @Sendable () async throws -> Void

    /// Creates the rest of an HTTP answer, which is written after the route has returned, from the function that writes
    /// it.
    ///
    /// - Parameters:
    ///   - writer: The writer of the answer's body.
    ///   - write: Writes the rest of the answer and its end with this writer.
    init(
        _ writer: any ResponseBodyWriter,
        write: @escaping @concurrent @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) {
        // The writer passes from one task to another that waits for it, so only one task uses it at a time.
        nonisolated(unsafe) let writer = writer
        self.write = {
            var writer = writer
            try await write(&writer)
        }
    }

    /// Returns a responder that calls `respond` for each request in a task of its own. If the answer then has a rest,
    /// such as a live stream, the responder writes it.
    static func taking(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            guard let rest = try await Self.rest(of: request, writer, channel, respond) else { return }
            try await rest.write()
        }
    }

    /// Calls `respond` for a request in a task of its own, and waits for that task. Returns the rest of the answer that
    /// is still to be written; `nil` if the answer is complete.
    @concurrent private static func rest(
        of request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel,
        _ respond: @escaping HTTPChannelHandler.Responder
    ) async throws -> OpenAnswer? {
        // The writer passes from this task to the new one, which this task waits for.
        nonisolated(unsafe) var place: ResponseWriter? = writer
        let task = Task {  // unstructured: its memory is to go before the caller goes on; it is waited for below
            guard let writer = place.take() else { return }
            try await respond(request, writer, channel)
        }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            return nil
        } catch let rest as OpenAnswer {
            return rest
        }
    }
}
