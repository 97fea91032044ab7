public import ArgumentParser
import GodwitOptions
import TrackingCore
public import TrackingHistory
import TrackingStore

/// `godwit import`: points of a file into the history.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take the points of a file into the history.",
        discussion: """
            GPX, GeoJSON, CSV, OwnTracks' .rec and Overland's JSON. The same file twice gives the same points. What is no \
            point is named with its line, and the rest is taken; exit code 1 then.
            """)

    @Argument(help: ArgumentHelp("The file; - is standard input, and needs --format.", valueName: "file"))
    var input: String

    @Option(help: ArgumentHelp("Whose points these are.", valueName: "id"), transform: TrackableID.checked)
    var trackable: TrackableID

    @Option(
        help: ArgumentHelp(
            "gpx, geojson, csv, owntracks or overland. Default: by the end of the file's name.", valueName: "format"))
    var format: HistoryReader.Format?

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        guard self.format ?? HistoryReader.Format(fileName: self.input) != nil else {
            throw ValidationError(
                "what '\(self.input)' holds cannot be told from its name: give --format gpx, geojson, csv, owntracks or overland"
            )
        }
    }

    func run() async throws {
        guard let format = self.format ?? HistoryReader.Format(fileName: self.input) else { return }
        let input = try InputFile(self.input)
        let summary = try await self.store.use(mayMake: true) { store in
            var progress = ErrorProgress(isWanted: true)
            defer { progress.clear() }
            var job = HistoryImport(into: self.trackable, of: store)
            try await job.run(HistoryReader(format), from: input, &progress)
            return job.summary
        }
        try Output.print(summary.text + "\n")
        if summary.refused > 0 { throw ExitCode(1) }
    }
}

extension HistoryReader.Format: ExpressibleByArgument {}

/// Reads a file into a store, a commit after the other.
struct HistoryImport {
    /// What became of the points.
    struct Summary: Equatable {
        var stored = 0
        var duplicates = 0
        /// Of a time that was erased.
        var erased = 0
        /// No points.
        var refused = 0

        var text: String {
            var parts = ["\(counted(self.stored, "point")) stored"]
            if self.duplicates > 0 {
                parts.append("\(self.duplicates) \(self.duplicates == 1 ? "was" : "were") there already")
            }
            if self.erased > 0 { parts.append("\(self.erased) are of a time that was erased, and were not taken") }
            if self.refused > 0 { parts.append("\(self.refused) could not be read") }
            return parts.joined(separator: ", ")
        }
    }

    private let trackable: TrackableID
    private let store: any HistoryStore
    private var waiting: [Location] = []
    private(set) var summary = Summary()

    /// So many points are stored in one commit.
    private static let commit = 2000
    /// So many refusals are told one by one.
    private static let toldRefusals = 20

    init(into trackable: TrackableID, of store: any HistoryStore) {
        self.trackable = trackable
        self.store = store
    }

    /// Reads all of a file.
    ///
    /// - Throws: `inputUnreadable` when it cannot be read or is of another format; what came before is stored.
    mutating func run(
        _ reader: HistoryReader, from input: InputFile, _ progress: inout ErrorProgress
    ) async throws {
        var reader = reader
        while reader.failure == nil, let bytes = try input.read() {
            try await self.take(reader.append(bytes[...]))
            if let size = input.size { progress.show(ProgressBar(done: input.position / 1024, total: size / 1024)) }
        }
        if reader.failure == nil { try await self.take(reader.finish()) }
        try await self.flush()
        if let failure = reader.failure { throw TrackingError(failure.code, "'\(input.path)' \(failure.message)") }
    }

    private mutating func take(_ events: [SourceEvent]) async throws {
        for event in events {
            switch event {
            case .fix(let point): self.waiting.append(point)
            case .badInput(let what):
                self.summary.refused += 1
                if self.summary.refused <= Self.toldRefusals { Program.complain(what) }
            case .notice: break
            }
            if self.waiting.count == Self.commit { try await self.flush() }
        }
    }

    private mutating func flush() async throws {
        guard !self.waiting.isEmpty else { return }
        var recording = Recording(of: self.trackable, at: TimeText.now)
        recording.points = self.waiting
        var batch = RecordingBatch()
        batch.recordings = [recording]
        let report = try await StorePatience.trying([.storeFailed, .storeBusy]) { () throws(TrackingError) in
            try await self.store.store(batch)
        }
        self.summary.stored += report.stored
        self.summary.duplicates += report.duplicates
        self.summary.erased += self.waiting.count - report.stored - report.duplicates
        self.waiting = []
    }
}
