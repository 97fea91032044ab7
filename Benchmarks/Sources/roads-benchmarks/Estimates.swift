import BenchmarkSupport
import TrackingCore

/// The estimates of arrival times along routes, beside those along straight lines.
enum Estimates {
    private static let trackables = 20
    private static let drivesEach = 10
    /// The error of the fixes in metres.
    private static let noise = 5.0
    /// The least length of a drive, as a straight line.
    private static let leastLength: Meters = 2_500
    /// The time between two drives of a trackable, in seconds.
    private static let rest = 300.0

    static func measure(_ region: Region, _ report: inout Report) async throws {
        var along: [EstimatedTrackable.Sample] = []
        var straight: [EstimatedTrackable.Sample] = []
        for number in 0..<Self.trackables {
            var traveller = Traveller(region, seed: UInt64(number))
            var routed = EstimatedTrackable(engine: region.engine)
            var unrouted = EstimatedTrackable(engine: nil)
            var time = UnixTime(1_700_000_000)
            for count in 0..<Self.drivesEach {
                let drive = try await traveller.drive(atLeast: Self.leastLength)
                let fixes = traveller.fixes(of: drive, since: time, noise: Self.noise)
                along += try await routed.travel(to: "\(count)", drive, fixes)
                straight += try await unrouted.travel(to: "\(count)", drive, fixes)
                time = UnixTime(time.seconds + drive.duration + Self.rest)
            }
        }
        for share in EstimatedTrackable.shares {
            report.compare(
                "estimates at \(Int(share * 100)) % of \(Self.trackables * Self.drivesEach) drives: error, median",
                reference: straight.filter { $0.share == share }.map(\.error).median,
                measured: along.filter { $0.share == share }.map(\.error).median, "s", .atMost(0.6))
        }
        let inside = along.count { $0.isInBand }
        let part = Double(inside) / Double(along.count) * 100
        report.measure("estimates: true arrivals within the band", part, "%", .atLeast(70))
        report.measure("estimates: the same", part, "%", .atMost(95))
    }
}
