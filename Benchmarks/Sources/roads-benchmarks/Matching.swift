import BenchmarkSupport
import TrackingCore
import TrackingRoads

/// The true roads that a match during the drive finds, beside a match of the whole drive at its end.
enum Matching {
    /// The counts of road pieces over several drives.
    private struct Score {
        var found = 0
        var right = 0
        var all = 0

        var recall: Double { Double(self.right) / Double(self.all) }
        var precision: Double { Double(self.right) / Double(self.found) }

        mutating func add(_ found: Set<UInt64>, _ truth: Set<UInt64>) {
            self.found += found.count
            self.right += found.intersection(truth).count
            self.all += truth.count
        }
    }

    static func measure(_ town: Town, _ engine: ValhallaEngine, _ report: inout Report) async throws {
        for (interval, rounds) in [(1.0, 2), (30.0, 8)] {
            for noise in [5.0, 10.0] {
                try await Self.measure(town, engine, every: interval, noise: noise, rounds: rounds, &report)
            }
        }
    }

    private static func measure(
        _ town: Town, _ engine: ValhallaEngine, every interval: Double, noise: Double, rounds: Int,
        _ report: inout Report
    ) async throws {
        var generator = SplitMix64(seed: 7)
        var (offline, live, finalWay) = (Score(), Score(), Score())
        var (changes, finalCount) = (0, 0)
        for _ in 0..<rounds {
            for place in Town.Place.allCases {
                let drive = try await TownDrive.random(in: town, through: place, using: &generator)
                let fixes = drive.fixes(every: interval, noise: noise, using: &generator)
                let whole = try await engine.match(
                    MatchRequest(
                        points: fixes.map {
                            MatchRequest.Point(
                                coordinate: $0.coordinate, time: $0.time,
                                accuracy: $0.accuracyHorizontal.map { Meters($0) })
                        }, profile: .auto))
                offline.add(Set(whole.edges.compactMap(\.way)), drive.pieces)
                let online = try await OnlineMatch(fixes, with: engine)
                live.add(online.live, drive.pieces)
                finalWay.add(online.final, drive.pieces)
                changes += online.changes
                finalCount += online.finalCount
            }
        }
        let name = "match, a fix each \(Int(interval)) s, error \(Int(noise)) m"
        let scores: [(String, Score, Bound?)] = [("final way", finalWay, .atLeast(0.97)), ("as published", live, nil)]
        for (kind, score, bound) in scores {
            report.compare(
                "\(name): recall of the true roads, \(kind)", reference: offline.recall, measured: score.recall, "",
                bound)
            report.compare(
                "\(name): precision, \(kind)", reference: offline.precision, measured: score.precision, "", bound)
        }
        report.measure("\(name): changes of \(finalCount) final positions", Double(changes), "", .atMost(0))
    }
}
