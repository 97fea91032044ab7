import TrackingCore

/// What is carried, and which of it may have changed: of thousands of trackables only those are looked at again.
struct AssetTable: Sendable {
    private var assets: [TrackableID: TrackedAsset] = [:]
    /// What was reached for to be changed, since ``takeTouched()``.
    private(set) var touched: Set<TrackableID> = []

    var isEmpty: Bool { self.assets.isEmpty }
    var count: Int { self.assets.count }
    var keys: [TrackableID: TrackedAsset].Keys { self.assets.keys }
    var values: [TrackableID: TrackedAsset].Values { self.assets.values }
    /// All of them, to be looked at.
    var all: [TrackableID: TrackedAsset] { self.assets }

    subscript(id: TrackableID) -> TrackedAsset? {
        _read { yield self.assets[id] }
        _modify {
            self.touched.insert(id)
            yield &self.assets[id]
        }
    }

    /// It is to be looked at again.
    mutating func touch(_ id: TrackableID) { self.touched.insert(id) }

    mutating func removeValue(forKey id: TrackableID) -> TrackedAsset? { self.assets.removeValue(forKey: id) }

    /// What was touched since the last time.
    mutating func takeTouched() -> Set<TrackableID> {
        defer { self.touched = [] }
        return self.touched
    }
}
