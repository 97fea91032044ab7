import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit last`: shows the newest recorded position of each trackable, or of those that are named or near a place.
struct Last: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the last positions of trackables.",
        discussion: """
            Without ids, all trackables are shown; with --near, those around a place, the nearest first. Text is a \
            table, which omits columns that do not fit into the terminal. Exit code 1: no position is stored of a \
            named trackable.

            Example:
              godwit last --near 52.66,-8.63 --within 500
            """)

    @Argument(help: "The ids of the trackables. Default: all.", transform: TrackableID.checked)
    var ids: [TrackableID] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show only positions near this place; needs --within.", valueName: "lat,lon"))
    var near: String?

    @Option(help: ArgumentHelp("Show only positions within this distance of --near.", valueName: "metres"))
    var within: String?

    @Option(help: ArgumentHelp("Print text, or json: one GeoJSON Feature a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var units: UnitsOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws { _ = try self.surroundings() }

    func run() async throws {
        let surroundings = try self.surroundings()
        var missing: [String] = []
        let positions = try await self.store.use { store in
            let positions = try await store.lastPositions(of: self.ids.isEmpty ? nil : self.ids)
            for id in Set(self.ids).subtracting(positions.map(\.trackable)).sorted() {
                missing.append(try await Self.complaint(about: id, store))
            }
            return positions
        }
        let shown = surroundings.map { positions.near($0.center, within: $0.radius) } ?? positions
        let file = try OutputFile(nil)
        switch self.format {
        case .text:
            var table = LastTable(units: self.units.units, now: TimeText.now, center: surroundings?.center)
            for position in shown { table.append(position) }
            try file.write(Array(table.text(limit: Terminal.tableWidth).utf8))
        case .json: for position in shown { try file.write(Array(Self.json(position).utf8)) }
        }
        try file.finish()
        for complaint in missing { Program.complain(complaint) }
        if !missing.isEmpty { throw ExitCode(1) }
    }

    /// Returns the error message for a trackable without a stored position. It contains the most similar names of
    /// stored trackables.
    private static func complaint(about id: TrackableID, _ store: any HistoryStore) async throws -> String {
        let isKnown = try await store.summaries(of: [id]).contains(where: \.isRecorded)
        return [
            "the history has no position of \(id.rawValue.printable).",
            isKnown ? nil : try await store.nearestNames(to: id).question,
            "List the stored trackables with godwit trackables",
        ].compactMap(\.self).joined(separator: " ")
    }

    private func surroundings() throws -> Surroundings? {
        guard (self.near == nil) == (self.within == nil) else {
            throw ValidationError("--near LAT,LON and --within METRES must be given together")
        }
        guard let near = self.near, let within = self.within else { return nil }
        return try checked { () throws(TrackingError) in try Surroundings(near: near, within: within) }
    }

    private static func json(_ position: LastPosition) -> String {
        let feature = String(decoding: LocationCodec.encodeFeature(position.location), as: UTF8.self).dropFirst()
        return "{\"id\":\(WatchPrinter.quoted(position.trackable.rawValue)),\(feature)\n".printableJSON
    }
}
