import Godwit

/// Runs the publisher (`track PORT`, or `track PORT SOURCE`) or the watcher (`watch PORT`) with a broker on this computer.
@main
enum Examples {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let broker = "mqtt://127.0.0.1:\(arguments[2])"
        switch arguments[1] {
        case "watch": try await watch(at: broker)
        case _ where arguments.count == 3: try await track(.gpsd(), to: broker)
        default: try await track(SourceSpecification.parse(arguments[3]).makeSource(), to: broker)
        }
    }
}
