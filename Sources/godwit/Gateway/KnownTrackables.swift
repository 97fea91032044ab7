import FoundationEssentials
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingStore

/// The trackables that are known to a gateway's files and to the history, against which an id on the command line is
/// checked.
struct KnownTrackables {
    let state: StateOptions
    let store: StoreOptions

    /// The result of looking up a trackable in the gateway's files and in the history.
    enum Finding {
        case known
        /// The search found the trackable neither in the gateway's files nor in the history. The value has the names
        /// of the most similar known trackables, if there are any.
        case unknown(NearestNames)
        /// The gateway's files do not know the trackable, and there is no history to check. The trackable may exist all
        /// the same.
        case unverifiable
    }

    /// Finds out if a trackable is known: to the labels and tokens of the gateway, or to the history by a stored
    /// record.
    ///
    /// - Throws: The errors of the history and of the gateway's database.
    func find(_ id: TrackableID) async throws -> Finding {
        let named = try await self.named()
        if named.contains(id) { return .known }
        guard try self.hasHistory else { return .unverifiable }
        return try await self.store.use { store in
            if try await store.summaries(of: [id]).contains(where: \.isRecorded) { return .known }
            var nearest = try await store.nearestNames(to: id)
            for id in named { nearest.consider(id.rawValue) }
            return .unknown(nearest)
        }
    }

    /// Warns on standard error about a trackable that is not known. A label or a rule may be made before the trackable
    /// is tracked, so that this is no error. Without a readable history, there is no warning.
    func warn(about id: TrackableID) async {
        guard case .unknown(let nearest) = try? await self.find(id) else { return }
        Program.note(
            [
                "Warning: no position of \(id.rawValue.printable) was recorded yet.", nearest.question?.printable,
            ].compactMap(\.self).joined(separator: " ") + "\n")
    }

    /// Returns the trackables that have a label or a group, or that a valid token names as publishable.
    private func named() async throws -> Set<TrackableID> {
        var ids = Set(try await self.state.useRules { try await $0.labels() }.keys)
        let now = TimeText.now
        let grants = try await self.state.useAccess { try await $0.grants(.token) }
        for grant in grants where grant.state(at: now) == .valid {
            if case .only(let published) = grant.publishes { ids.formUnion(published) }
        }
        return ids
    }

    /// `true` if there is a history: one that the user named, or a file at the default place.
    private var hasHistory: Bool {
        get throws {
            if self.store.store != nil { return true }
            guard case .sqlite(let path) = try self.store.location() else { return true }
            return FileManager.default.fileExists(atPath: path)
        }
    }
}
