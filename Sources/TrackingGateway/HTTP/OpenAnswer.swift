import Hummingbird
import HummingbirdCore
import NIOCore

/// The rest of an HTTP answer without a fixed end, such as a live stream. The code that began the answer throws this
/// value to the connection's task, which writes the rest.
///
/// A task keeps the memory of its deepest call until the task ends, and a connection's task lasts as long as the
/// connection. Therefore each request is answered in a task of its own, whose memory is freed with the task. The rest
/// of a stream is then written by the connection's task with few calls on its stack.
struct OpenAnswer: Error {
    private let write: @concurrent @Sendable () async throws -> Void

    /// Creates the rest of an answer.
    ///
    /// - Parameter write: Writes the rest of the answer and its end.
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

    /// Returns a responder that answers each request with `respond` in a task of its own, and then writes the rest of
    /// an open answer.
    static func taking(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            guard let rest = try await Self.rest(of: request, writer, channel, respond) else { return }
            try await rest.write()
        }
    }

    /// Answers a request in a task of its own. Returns the rest of an open answer once that task has ended; `nil` if
    /// the answer is complete.
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
