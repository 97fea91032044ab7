package import TrackingCore

/// Points to import into the history, which have no stream and no number. Finds those among them that the history
/// already contains.
///
/// An export contains points that a device recorded with a stream and a number. When the export is imported, the same
/// points have neither. Two points of a trackable are the same if they have the same time, in microseconds, and the
/// same place.
package struct ImportDraft: Sendable {
    /// The time and the place by which a point without a stream and a number is identified.
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

    /// The longest time in seconds between two consecutive points to import that are searched for in one time span of
    /// the history. After a longer pause, another time span begins.
    private static let longestPause = 60.0
    /// The time in seconds by which each searched time span of the history is extended at both ends. It covers the
    /// rounding of times to microseconds.
    private static let margin = 2e-6

    private let points: [Location]
    private let keys: Set<Key>
    private var stored: Set<Key> = []

    /// Makes a draft from the points to import. It counts all of them as new until ``found(_:)`` names those that the
    /// history contains.
    ///
    /// - Parameter points: The points to import, in any order.
    package init(_ points: [Location]) {
        self.points = points
        self.keys = Set(points.map { Key($0) })
    }

    /// The time spans in which the history must be searched for the points to import, in the order of time. They do not
    /// overlap.
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

    /// Handles points that were read from the history. If a point to import has the same time and place as one of them,
    /// the history contains it already, and it is not imported again.
    ///
    /// One kind of stored point is ignored here: a point that has no stream and is marked as having a wrong clock. The
    /// point to import is then stored again, and the store removes the mark.
    package mutating func found(_ points: [StoredPoint]) {
        for point in points where point.location.stream != nil || !point.hasClockFault {
            let key = Key(point.location)
            if self.keys.contains(key) { self.stored.insert(key) }
        }
    }

    /// The points to import that were not found in the history, in their original order.
    package var newPoints: [Location] { self.points.filter { !self.stored.contains(Key($0)) } }
}

extension HistoryStore {
    /// Returns those of the given points that the history does not contain, in their original order.
    ///
    /// A point that another program stores at the same time may be among them.
    ///
    /// - Parameters:
    ///   - points: Points without a stream.
    ///   - trackable: The trackable of the points.
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
