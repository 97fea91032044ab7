import TrackingMQTT
import TrackingPublisher

/// Runs the publisher (`track PORT SOURCE`) or the watcher (`watch PORT`) with a broker on this computer.
@main
enum Examples {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let broker = MQTTEndpoint(host: "127.0.0.1", port: Int(arguments[2]))
        switch arguments[1] {
        case "track": try await track("van-7", from: SourceSpecification.parse(arguments[3]).makeSource(), to: broker)
        default: try await watch("van-7", at: broker)
        }
    }
}
