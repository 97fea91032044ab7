import Foundation
import Testing

/// A conversation with a state machine as reviewable text: lines without indentation are inputs, lines that begin with
/// `  -> ` are the machine's answers, and `#` begins a comment.
///
/// With `GODWIT_REWRITE_SCENARIOS=1` in the environment, a run replaces the answers in the file. Review the difference.
struct ScenarioFile {
    /// A line of the file that is not an answer, and the answers beneath it.
    private struct Step {
        var line: String
        var expected: [String] = []
        var isInput: Bool { !self.line.isEmpty && !self.line.hasPrefix("#") }
    }

    let name: String
    private let path: String
    private var steps: [Step] = []

    /// The names of one machine's scenarios, sorted.
    static func names(of machine: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: Self.folder(machine))) ?? []
        return files.filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
    }

    init(_ name: String, of machine: String) throws {
        self.name = name
        self.path = Self.folder(machine) + "/\(name).txt"
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("  -> ") {
                let last = try #require(self.steps.indices.last, "\(name): an answer before the first input")
                self.steps[last].expected.append(String(line.dropFirst(5)))
            } else {
                self.steps.append(Step(line: String(line)))
            }
        }
    }

    /// Passes all inputs to the machine, and compares its answers with those in the file.
    func play(_ answers: (_ words: [String]) throws -> [String]) throws {
        var lines: [String] = []
        for step in self.steps {
            lines.append(step.line)
            guard step.isInput else { continue }
            let actual = try answers(step.line.split(separator: " ").map { String($0) })
            lines += actual.map { "  -> " + $0 }
            if !Self.isRewriting { #expect(actual == step.expected, "\(self.name): \(step.line)") }
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
        return tests.appendingPathComponent("Scenarios/\(machine)").path
    }
}
