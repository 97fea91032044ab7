import TestSupport
import Testing
import TrackingCore

@testable import TrackingRoads

/// Plays Tests/Scenarios/window.
@Suite struct MatchWindowScenarioTests {
    @Test(arguments: ScenarioPlayer.names(in: "window")) func scenario(name: String) throws {
        var talk = WindowConversation()
        #expect(try ScenarioPlayer(name, in: "window").play { words in try talk.happen(words) } == [])
    }

    @Test func thereAreScenarios() { #expect(ScenarioPlayer.names(in: "window").count >= 6) }
}

/// A window of fixes near a road that leads north. Road `a` is the line `east 0`, road `b` the line `east 8`.
private struct WindowConversation {
    private var window = MatchWindow()
    private var seq: UInt64 = 0
    private var request: MatchWindow.Request?
    private let origin = Coordinate(latitude: 47.1, longitude: 9.5)!
    private var finals: [Int: MatchWindow.Match?] = [:]

    /// `fix 10 north 100 [east 3] [speed 12] [accuracy 8] [stream s2]`, `fixes 10 to 120 speed 20` (one a second),
    /// `request`, `answer a|b [off 4 5]` to the last request, `no road`, `final`.
    mutating func happen(_ words: [String]) throws -> [String] {
        func value(_ name: String) -> Double? {
            words.firstIndex(of: name).flatMap { $0 + 1 < words.count ? Double(words[$0 + 1]) : nil }
        }
        switch words[0] {
        case "fix":
            let stream = words.firstIndex(of: "stream").map { words[$0 + 1] } ?? "s1"
            let time = try #require(Double(words[1]))
            return self.add(
                time, north: value("north") ?? 0, east: value("east") ?? 0, speed: value("speed"),
                accuracy: value("accuracy"), stream)
        case "fixes":
            let (first, last) = (try #require(Int(words[1])), try #require(Int(words[3])))
            let speed = try #require(value("speed"))
            return (first...last).flatMap { time in
                self.add(Double(time), north: Double(time) * speed, east: 0, speed: speed, accuracy: nil, "s1")
                    .filter { !$0.hasPrefix("point") }
            }
        case "request":
            self.request = self.window.request
            guard let request else { return ["nothing"] }
            let anchors = self.window.anchors.map(\.number)
            let (first, rest) = (request.numbers.prefix(anchors.count), request.numbers.dropFirst(anchors.count))
            #expect(Array(first) == anchors)
            return (anchors.isEmpty ? [] : ["anchors \(Self.range(anchors))"]) + ["fixes \(Self.range(Array(rest)))"]
        case "answer":
            let request = try #require(self.request)
            let off = Set(words.dropFirst(words.firstIndex(of: "off") ?? words.count).compactMap { Int($0) })
            return self.report(
                self.window.answered(try self.match(request, road: words[1], off: off), to: request.numbers))
        case "no": return self.report(self.window.foundNoRoad(try #require(self.request).numbers))
        case "final": return [self.window.finalSeq.map { "seq \($0)" } ?? "none"]
        default:
            Issue.record("'\(words[0])' is no input of a window")
            return []
        }
    }

    private mutating func add(
        _ time: Double, north: Double, east: Double, speed: Double?, accuracy: Double?, _ stream: String
    ) -> [String] {
        self.seq += 1
        var fix = Location(coordinate: self.place(north, east), time: UnixTime(1_700_000_000 + time))
        (fix.speed, fix.accuracyHorizontal, fix.seq, fix.stream) = (speed, accuracy, self.seq, StreamID(stream))
        let (number, final) = self.window.add(fix)
        return ["point \(number)"] + self.report(final)
    }

    private func place(_ north: Double, _ east: Double) -> Coordinate {
        self.origin.destination(bearing: 0, distance: Meters(north)).destination(bearing: 90, distance: Meters(east))
    }

    private func match(_ request: MatchWindow.Request, road: String, off: Set<Int>) throws -> RoadMatch {
        let (edge, east) = road == "a" ? (UInt64(1), 0.0) : (2, 8)
        let points = zip(request.numbers, request.points).map { number, point in
            guard !off.contains(number) else {
                return RoadMatch.Point(coordinate: point.coordinate, confidence: .offRoad)
            }
            let north = self.origin.distance(to: point.coordinate)
            return RoadMatch.Point(
                coordinate: self.place(north.value, east), confidence: .matched, edge: 0, segment: 0, offset: 1)
        }
        return RoadMatch(
            points: points, edges: [RoadMatch.Edge(id: edge, road: road)], shape: [self.origin, self.place(9000, 0)])
    }

    /// Checks that no point becomes final twice.
    private mutating func report(_ final: [MatchWindow.Point]) -> [String] {
        for point in final { #expect(self.finals.updateValue(point.match, forKey: point.number) == nil) }
        var lines: [String] = []
        for point in final {
            let road = point.match.map { $0.edge?.road ?? "no road" } ?? "no answer"
            lines.append("final \(point.number) on \(road)")
        }
        return lines.count > 4 ? [lines[0], "…", lines[lines.count - 1]] : lines
    }

    private static func range(_ numbers: [Int]) -> String {
        numbers.count > 4
            ? "\(numbers[0])…\(numbers[numbers.count - 1])" : numbers.map(String.init).joined(separator: " ")
    }
}
