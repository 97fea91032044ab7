import Foundation
import Testing

/// A conversation with a state machine, as text that a dispatcher can review. A line without indentation is an input,
/// a line that begins with `  -> ` is an output of the machine, and `#` begins a comment.
///
/// With `GODWIT_REWRITE_SCENARIOS=1` in the environment the answers in the file are replaced by those of this run; the
/// difference is then what is to be reviewed.
struct ScenarioFile {
    /// One line of the file that is not an answer, and the answers below it.
    private struct Step {
        var line: String
        var expected: [String] = []
        var isInput: Bool { !self.line.isEmpty && !self.line.hasPrefix("#") }
    }

    let name: String
    private let path: String
    private var steps: [Step] = []

    /// The scenarios of one machine, by name.
    static func names(of machine: String) -> [String] {
        let folder = Self.folder(machine)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
    }

    init(_ name: String, of machine: String) throws {
        self.name = name
        self.path = Self.folder(machine) + "/\(name).txt"
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("  -> ") {
                let last = try #require(self.steps.indices.last, "\(name): an answer before anything happened")
                self.steps[last].expected.append(String(line.dropFirst(5)))
            } else {
                self.steps.append(Step(line: String(line)))
            }
        }
    }

    /// Runs the inputs of the file in order, and compares the outputs with those in the file.
    func play(_ answers: (_ words: [String]) throws -> [String]) throws {
        var lines: [String] = []
        for step in self.steps {
            lines.append(step.line)
            guard step.isInput else { continue }
            let received = try answers(step.line.split(separator: " ").map { String($0) })
            lines += received.map { "  -> " + $0 }
            if !Self.isRewriting { #expect(received == step.expected, "\(self.name): \(step.line)") }
        }
        if Self.isRewriting {
            try lines.joined(separator: "\n").write(toFile: self.path, atomically: true, encoding: .utf8)
        }
    }

    private static var isRewriting: Bool {
        ProcessInfo.processInfo.environment["GODWIT_REWRITE_SCENARIOS"] == "1"
    }

    private static func folder(_ machine: String) -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return tests.appendingPathComponent("Scenarios/\(machine)").path
    }
}
