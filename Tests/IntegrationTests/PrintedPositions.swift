import Foundation
import Synchronization

/// The positions that a watcher has printed as lines of JSON. Each line is read only once, for any number of calls.
final class PositionLog: Sendable {
    private struct State {
        var end: UInt64 = 0
        var times: [String: [Double]] = [:]
    }

    private let state = Mutex(State())

    /// Reads the new lines. Returns the time at which the watcher received each position, in seconds since 1970, by
    /// trackable.
    func times(of program: RunningProgram) -> [String: [Double]] {
        self.state.withLock { state in
            let data = program.outputLines(from: state.end)
            state.end += UInt64(data.count)
            for line in String(decoding: data, as: UTF8.self).split(separator: "\n")
            where line.contains(#""event":"location""#) {
                guard let trackable = line.firstMatch(of: #/"trackable":"([^"]+)"/#),
                    let time = line.firstMatch(of: #/"receivedAt":([0-9.]+)/#).flatMap({ Double($0.1) })
                else { continue }
                state.times[String(trackable.1), default: []].append(time)
            }
            return state.times
        }
    }
}

extension RunningProgram {
    /// The times at which a watcher with `--format json` received positions, in seconds since 1970, by trackable.
    var printedPositions: [String: [Double]] { self.positionLog.times(of: self) }
}
