import Hummingbird
import HummingbirdCore
import NIOCore

/// The rest of an answer that has no end of its own, handed over by whoever began it: a live stream's.
///
/// A task keeps the memory of its deepest call until it ends, and a connection's task lasts as long as the connection. So each
/// request is answered in a task of its own, whose memory goes with it; what remains of a stream is thrown to the connection's
/// task, which writes it with nothing beneath.
struct OpenAnswer: Error {
    private let write: @concurrent @Sendable () async throws -> Void

    /// - Parameter write: Writes the rest, and the end.
    init(
        _ writer: any ResponseBodyWriter,
        write: @escaping @concurrent @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) {
        // Handed from one task to another that waits for it: it is used by one at a time.
        nonisolated(unsafe) let writer = writer
        self.write = {
            var writer = writer
            try await write(&writer)
        }
    }

    /// Answers requests as another does, each in a task of its own, and writes what is handed over.
    static func taking(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            guard let rest = try await Self.rest(of: request, writer, channel, respond) else { return }
            try await rest.write()
        }
    }

    /// Answers a request; what is handed over, once the task that did is gone.
    @concurrent private static func rest(
        of request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel,
        _ respond: @escaping HTTPChannelHandler.Responder
    ) async throws -> OpenAnswer? {
        // As above.
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
