import Foundation

/// A conversation with a state machine as text that a domain expert can review: lines without indentation are inputs,
/// lines that begin with `  -> ` are the answers of the machine, and `#` begins a comment.
///
/// With `GODWIT_REWRITE_SCENARIOS=1` in the environment, a run replaces the answers in the file. Review the difference.
package struct ScenarioPlayer {
    /// A line of the file that is not an answer, and the answers beneath it.
    private struct Step {
        var line: String
        var expected: [String] = []
        var isInput: Bool { !self.line.isEmpty && !self.line.hasPrefix("#") }
    }

    private let path: String
    private var steps: [Step] = []

    /// Returns the names of the scenarios in a folder of `Tests/Scenarios`, sorted.
    package static func names(in folder: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: Self.path(folder))) ?? []
        return files.filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
    }

    /// Reads the scenario file of this name in a folder of `Tests/Scenarios`.
    ///
    /// - Throws: The error of reading the file, if it cannot be read.
    package init(_ name: String, in folder: String) throws {
        self.path = Self.path(folder) + "/\(name).txt"
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("  -> "), !self.steps.isEmpty {
                self.steps[self.steps.count - 1].expected.append(String(line.dropFirst(5)))
            } else {
                self.steps.append(Step(line: String(line)))
            }
        }
    }

    /// Passes every input line of the scenario to a state machine, in order.
    ///
    /// - Parameter answers: Returns the machine's answers to the words of an input line.
    /// - Returns: The inputs whose answers differ from those in the file.
    package func play(_ answers: (_ words: [String]) throws -> [String]) throws -> [String] {
        var lines: [String] = []
        var differences: [String] = []
        for step in self.steps {
            lines.append(step.line)
            guard step.isInput else { continue }
            let answer = try answers(step.line.split(separator: " ").map { String($0) })
            lines += answer.map { "  -> " + $0 }
            if answer != step.expected { differences.append("\(step.line): \(answer), expected \(step.expected)") }
        }
        guard ProcessInfo.processInfo.environment["GODWIT_REWRITE_SCENARIOS"] == "1" else { return differences }
        try lines.joined(separator: "\n").write(toFile: self.path, atomically: true, encoding: .utf8)
        return []
    }

    private static func path(_ folder: String) -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return tests.appendingPathComponent("Scenarios/\(folder)").path
    }
}
