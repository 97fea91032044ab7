import Glibc
import Hummingbird
import NIOCore

/// The reference server: Hummingbird with handlers that only read a body and answer, or hold a stream open.
enum Bare {
    static func serve(port: Int) async throws {
        let router = Router()
        router.post("overland") { request, _ in
            _ = try await request.body.collect(upTo: 16_777_216)
            return #"{"result":"ok"}"#
        }
        router.get("api/v1/live") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: ": here\n\n"))
                    while !Task.isCancelled {
                        try await Task.sleep(for: .seconds(15))
                        try await writer.write(ByteBuffer(string: ": here\n\n"))
                    }
                    try await writer.finish(nil)
                })
        }
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port), backlog: 4096))
        try await server.run()
    }
}
