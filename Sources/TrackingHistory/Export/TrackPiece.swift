import TrackingCore

/// The points of one piece of a track, collected for formats that write all times before all positions. A piece has at
/// most ``limit`` points, to limit the memory. Each further piece begins with the last point of the previous one, so
/// that the track stays connected.
struct TrackPiece: Sendable {
    /// The maximum number of points of one piece of a track: 500.
    static let limit = 500

    private(set) var points: [Location] = []

    /// Adds a point to the current piece of the track. If the piece now has ``limit`` points, returns them, and begins
    /// the next piece with the last of them. Otherwise returns `nil`.
    mutating func append(_ point: Location) -> [Location]? {
        self.points.append(point)
        guard self.points.count == Self.limit else { return nil }
        defer { self.points = [point] }
        return self.points
    }

    /// Ends the track, and returns the points of its last piece; `nil` when all points were returned before.
    ///
    /// - Parameter hasGiven: `true` when an earlier piece of this track was returned. The remaining points then begin
    ///   with the last point of that piece. If no other point remains, the result is `nil`.
    mutating func finish(hasGiven: Bool) -> [Location]? {
        defer { self.points = [] }
        return self.points.count > (hasGiven ? 1 : 0) ? self.points : nil
    }
}
