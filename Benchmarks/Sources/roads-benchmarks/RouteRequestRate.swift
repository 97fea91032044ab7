import BenchmarkSupport
import TrackingCore
import TrackingTesting

/// The rate of route requests for a fleet that moves, in simulated time.
enum RouteRequestRate {
    private static let trackables = 1_000
    private static let minutes = 10.0
    /// The time between two fixes of a trackable, in seconds.
    private static let interval = 5.0
    private static let noise = 5.0
    private static let answerTime = Duration.milliseconds(20)

    static func measure(_ region: Region, _ report: inout Report) async throws {
        var requests = 0
        for number in 0..<Self.trackables {
            requests += try await Self.requests(of: Traveller(region, seed: UInt64(10_000 + number)), region)
        }
        let rate = Double(requests) / Self.minutes
        report.compare(
            "route requests of \(Self.trackables) moving trackables, beside one each 60 s",
            reference: Double(Self.trackables), measured: rate, "requests/min", .atMost(1.2))
    }

    /// Returns the number of route requests of one trackable, which begins a new journey after each arrival.
    private static func requests(of traveller: Traveller, _ region: Region) async throws -> Int {
        var (traveller, book, requests) = (traveller, EstimateBook(seed: 1), 0)
        let id = try TrackableID("van")
        let end = 1_700_000_000 + Self.minutes * 60
        var (time, count) = (1_700_000_000.0, 0)
        while time < end {
            let drive = try await traveller.drive(atLeast: 2_500)
            let fixes = traveller.fixes(of: drive, since: UnixTime(time), noise: Self.noise, every: Self.interval)
            let stop = Journey.Stop(id: "\(count)", location: drive.end)
            var actions = try book.received(
                journey: MessageCodec.encode(Journey(stops: [stop])), of: id, at: fixes[0], Self.moment(time))
            for fix in fixes where fix.time.seconds < min(end, time + drive.duration) {
                let now = Self.moment(fix.time.seconds)
                actions += book.moved(fix, of: id, at: now)
                while !actions.isEmpty {
                    guard case .requestRoute(let request, let number) = actions.removeFirst() else { continue }
                    requests += 1
                    let later = Moment(now: now.now.advanced(by: Self.answerTime), wall: now.wall)
                    actions += book.answered(number, .success(try await region.engine.route(request)), at: later)
                }
            }
            (time, count) = (time + drive.duration, count + 1)
        }
        return requests
    }

    private static func moment(_ seconds: Double) -> Moment {
        Moment(now: MonotonicTime(.seconds(seconds)), wall: UnixTime(seconds))
    }
}
