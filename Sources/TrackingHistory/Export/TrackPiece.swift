import TrackingCore

/// The points of a piece of a track, for formats that write all times before all positions. A long track is divided
/// into several pieces to limit memory; each begins with the last point of the previous piece.
struct TrackPiece: Sendable {
    /// The maximum number of points of one piece.
    static let limit = 500

    private(set) var points: [Location] = []

    /// Adds a point and returns the piece that it completes; returns `nil` when the piece is incomplete.
    mutating func append(_ point: Location) -> [Location]? {
        self.points.append(point)
        guard self.points.count == Self.limit else { return nil }
        defer { self.points = [point] }
        return self.points
    }

    /// Ends the track and returns its remaining points; `nil` when there are none.
    ///
    /// - Parameter hasGiven: `true` when a previous piece contained the first remaining point.
    mutating func finish(hasGiven: Bool) -> [Location]? {
        defer { self.points = [] }
        return self.points.count > (hasGiven ? 1 : 0) ? self.points : nil
    }
}
