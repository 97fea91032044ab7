package import TrackingCore

/// Points without a stream that are about to be imported, and the search for those that are already stored.
///
/// An export contains points that a device recorded with a stream and a number. An import of the export has the same points
/// without them. Two points of a trackable are the same if they have the same time, in microseconds, and the same place.
package struct ImportDraft: Sendable {
    /// The identity of a point without a stream and a number.
    private struct Key: Hashable {
        let microseconds: Double
        let latitude: Double
        let longitude: Double

        init(_ location: Location) {
            self.microseconds = (location.time.seconds * 1e6).rounded()
            // The sum turns -0 into 0. Exports in GPX write the longitude 180 as -180.
            self.latitude = location.coordinate.latitude + 0
            self.longitude = location.coordinate.longitude == 180 ? -180 : location.coordinate.longitude + 0
        }
    }

    /// The longest pause in seconds between two points that are searched for in one time span.
    private static let longestPause = 60.0
    /// The extension of a time span at both ends, in seconds. It covers the rounding to microseconds.
    private static let margin = 2e-6

    private let points: [Location]
    private let keys: Set<Key>
    private var stored: Set<Key> = []

    /// Makes a draft of an import.
    ///
    /// - Parameter points: The points to import, in any order.
    package init(_ points: [Location]) {
        self.points = points
        self.keys = Set(points.map { Key($0) })
    }

    /// The time spans in which the store may have the points, by time. They do not overlap.
    package var spans: [TimeSpan] {
        var spans: [(first: Double, last: Double)] = []
        for time in self.points.map(\.time.seconds).sorted() {
            if let last = spans.last?.last, time - last <= Self.longestPause {
                spans[spans.count - 1].last = time
            } else {
                spans.append((time, time))
            }
        }
        return spans.map { TimeSpan(from: UnixTime($0.first - Self.margin), to: UnixTime($0.last + Self.margin)) }
    }

    /// Notes points that the store has.
    ///
    /// A point without a stream that was recorded with a wrong clock is left to the store, which recognizes the same point and
    /// corrects its clock fault.
    package mutating func found(_ points: [StoredPoint]) {
        for point in points where point.location.stream != nil || !point.hasClockFault {
            let key = Key(point.location)
            if self.keys.contains(key) { self.stored.insert(key) }
        }
    }

    /// The points that were not found in the store, in their original order.
    package var newPoints: [Location] { self.points.filter { !self.stored.contains(Key($0)) } }
}

extension HistoryStore {
    /// Returns those of the given points that the store does not have, in their original order.
    ///
    /// A point that another program stores at the same time may be returned, too.
    ///
    /// - Parameters:
    ///   - points: Points without a stream.
    ///   - trackable: Their trackable.
    /// - Throws: `storeFailed`.
    package func newPoints(
        among points: [Location], of trackable: TrackableID
    ) async throws(TrackingError) -> [Location] {
        var draft = ImportDraft(points)
        for span in draft.spans {
            var after: PointName?
            repeat {
                let page = try await self.points(PointQuery(trackable, during: span), after: after, limit: 2000)
                draft.found(page.points)
                after = page.next
            } while after != nil
        }
        return draft.newPoints
    }
}
