import Foundation
import Synchronization
import TrackingCore

/// The records in a program's log. Each line is read only once, for any number of calls.
final class RecordLog: Sendable {
    private struct State {
        var end: UInt64 = 0
        var names: Set<TestRecorder.Name> = []
    }

    private let state = Mutex(State())

    /// Reads the new lines, and returns all names.
    func names(of program: RunningProgram) -> Set<TestRecorder.Name> {
        self.state.withLock { state in
            let data = program.errorLines(from: state.end)
            state.end += UInt64(data.count)
            for line in String(decoding: data, as: UTF8.self).split(separator: "\n")
            where line.contains(" Records written to the device's log ") {
                state.names.formUnion(Self.names(in: line))
            }
            return state.names
        }
    }

    private static func names(in line: Substring) -> [TestRecorder.Name] {
        guard let match = line.firstMatch(of: #/seqs="?([0-9\- ]+?)"? stream=([a-z0-9]+)/#),
            let stream = StreamID(String(match.2))
        else { return [] }
        return match.1.split(separator: " ").flatMap { range in
            let bounds = range.split(separator: "-").compactMap { UInt64($0) }
            return (bounds[0]...bounds[bounds.count - 1]).map { TestRecorder.Name(stream: stream, seq: $0) }
        }
    }
}

extension RunningProgram {
    /// The names of the records that an agent with `--log-level trace` has logged as written.
    var loggedRecords: Set<TestRecorder.Name> { self.recordLog.names(of: self) }
}
