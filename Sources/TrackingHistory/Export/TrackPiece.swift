import TrackingCore

/// The points of a piece of track, for formats that write all times before all places. A long track becomes several pieces, so
/// that memory stays bounded; each goes on with the point that the last one ended with.
struct TrackPiece: Sendable {
    /// The most points of one piece.
    static let limit = 500

    private(set) var points: [Location] = []

    /// Adds a point, and gives the piece that it completes.
    mutating func append(_ point: Location) -> [Location]? {
        self.points.append(point)
        guard self.points.count == Self.limit else { return nil }
        defer { self.points = [point] }
        return self.points
    }

    /// Ends the track here, and gives what was not yet given; `nil` where that is nothing, or no more than the point that the
    /// last piece ended with.
    mutating func finish(hasGiven: Bool) -> [Location]? {
        defer { self.points = [] }
        return self.points.count > (hasGiven ? 1 : 0) ? self.points : nil
    }
}
