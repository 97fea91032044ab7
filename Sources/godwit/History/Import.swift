public import ArgumentParser
import GodwitOptions
import TrackingCore
public import TrackingHistory
import TrackingStore

/// `godwit import`: stores the points of a file in the history.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Store the points of a file in the history.",
        discussion: """
            The formats are GPX, GeoJSON, CSV, OwnTracks' .rec, Overland's JSON, NextBillion.ai's LocationData and \
            the history files of Ably Asset Tracking. A point with the time and the place of a stored point is not \
            stored again, so a file can be imported twice and an export back into its history. Invalid points are \
            reported with their lines, and the rest is stored; the exit code then is 1.

            Example:
              godwit import track.gpx --trackable van-7
            """)

    @Argument(help: ArgumentHelp("The file to import; - for standard input, which needs --format.", valueName: "file"))
    var input: String

    @Option(
        help: ArgumentHelp("Store the points for this trackable.", valueName: "id"), transform: TrackableID.checked)
    var trackable: TrackableID

    @Option(
        help: ArgumentHelp(
            "Read gpx, geojson, csv, owntracks, overland, nextbillion or ably. Default: by the file name's ending.",
            valueName: "format"))
    var format: HistoryReader.Format?

    @OptionGroup var store: StoreOptions
    @OptionGroup var file: FileOptions

    func validate() throws {
        guard self.format ?? HistoryReader.Format(fileName: self.input) != nil else {
            throw ValidationError(
                "cannot tell the format of '\(self.input)' from its name. Give --format gpx, geojson, csv, owntracks, overland, nextbillion or ably"
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

/// Imports the points of a file into a history, and commits them after every 2,000 points.
struct HistoryImport {
    /// The outcome of an import: the counts of stored, already stored, discarded and invalid points.
    struct Summary: Equatable {
        var stored = 0
        var duplicates = 0
        /// The number of points that were discarded because the user has erased the trackable's records of that time
        /// from the history.
        var erased = 0
        /// The number of points in the file that could not be read because they are invalid.
        var refused = 0

        var text: String {
            var parts = ["\(counted(self.stored, "point")) stored"]
            if self.duplicates > 0 {
                parts.append("\(self.duplicates) \(self.duplicates == 1 ? "was" : "were") already stored")
            }
            if self.erased > 0 { parts.append("\(self.erased) discarded, as their time was erased") }
            if self.refused > 0 { parts.append("\(self.refused) could not be read") }
            return parts.joined(separator: ", ")
        }
    }

    private let trackable: TrackableID
    private let store: any HistoryStore
    private var waiting: [Location] = []
    private(set) var summary = Summary()

    /// The number of points that an import stores together in one commit of the history.
    private static let commit = 2000
    /// The number of invalid points that are reported one by one. Further ones are only counted.
    private static let reportedRefusals = 20

    init(into trackable: TrackableID, of store: any HistoryStore) {
        self.trackable = trackable
        self.store = store
    }

    /// Reads a file to its end and stores its points in the history.
    ///
    /// - Throws: `inputUnreadable` if the file cannot be read or has another format; the errors of the history. The
    ///   points stored before the error remain stored.
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
        if let failure = reader.failure { throw TrackingError(failure.code, "'\(input.path)': \(failure.message)") }
    }

    private mutating func take(_ events: [SourceEvent]) async throws {
        for event in events {
            switch event {
            case .fix(let point): self.waiting.append(point)
            case .badInput(let what):
                self.summary.refused += 1
                if self.summary.refused <= Self.reportedRefusals { Program.complain(what) }
            case .notice: break
            }
            if self.waiting.count == Self.commit { try await self.flush() }
        }
    }

    private mutating func flush() async throws {
        guard !self.waiting.isEmpty else { return }
        let points = self.waiting
        let new = try await StorePatience.trying([.storeFailed, .storeBusy]) { () throws(TrackingError) in
            try await self.store.newPoints(among: points, of: self.trackable)
        }
        self.summary.duplicates += points.count - new.count
        self.waiting = []
        guard !new.isEmpty else { return }
        var recording = Recording(of: self.trackable, at: TimeText.now)
        recording.points = new
        var batch = RecordingBatch()
        batch.recordings = [recording]
        let report = try await StorePatience.trying([.storeFailed, .storeBusy]) { () throws(TrackingError) in
            try await self.store.store(batch)
        }
        self.summary.stored += report.stored
        self.summary.duplicates += report.duplicates
        self.summary.erased += new.count - report.stored - report.duplicates
    }
}
