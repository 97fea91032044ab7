import TrackingCore

@testable import TrackingHistory

/// GeoJSON and Overland's batches: the same, however the bytes are cut.
func fuzzFeatures(_ bytes: [UInt8]) { checkPieces(bytes) { FeatureReader() } }

/// CSV: the same, however the bytes are cut.
func fuzzCSV(_ bytes: [UInt8]) { checkPieces(bytes) { CSVReader() } }

/// What the OwnTracks Recorder stores: the same, however the bytes are cut.
func fuzzOwnTracks(_ bytes: [UInt8]) { checkPieces(bytes) { OwnTracksReader() } }
