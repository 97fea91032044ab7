import TrackingMQTT
import TrackingPublisher

/// Runs the examples of the pages as they stand there: `doc-examples carry PORT SOURCE` and `doc-examples watch PORT`.
@main
enum Examples {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let broker = MQTTEndpoint(host: "127.0.0.1", port: Int(arguments[2]))
        switch arguments[1] {
        case "carry": try await carry("van-7", from: SourceSpecification.parse(arguments[3]).makeSource(), to: broker)
        default: try await watch("van-7", at: broker)
        }
    }
}
