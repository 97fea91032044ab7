private import CYAML

/// A fault in the YAML text of a configuration file.
enum YAMLFault: Error {
    /// The text breaks the syntax. The line and the column count from 1.
    case syntax(problem: String, line: Int, column: Int)
    /// The text has a character that YAML does not allow.
    case character(problem: String, line: Int)
    /// A mapping has a key twice. The line is that of the first of them.
    case duplicateKey(String, line: Int)
    /// The text exceeds a limit of ``YAMLReader``.
    case tooLarge(line: Int)
    /// The memory does not suffice.
    case memory
}

/// Reads YAML text with libyaml, as the values of a ``ConfigurationFile``.
struct YAMLReader: ~Copyable {
    typealias Value = ConfigurationFile.Value

    /// The maximum number of lists and mappings inside each other.
    static let maximumDepth = 64
    /// The maximum number of values in a text. A value that an alias repeats counts each time.
    static let maximumValues = 100_000

    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let bytes: UnsafeBufferPointer<UInt8>
    /// `false` if the memory did not suffice for the parser.
    private let isReady: Bool
    private var count = 0
    /// The values that have an anchor, each with its number of values.
    private var anchors: [String: (value: Value, count: Int)] = [:]

    /// Returns the value of the only document in a text; `nil` for a text without a document.
    ///
    /// - Throws: ``YAMLFault``.
    static func document(in text: String) throws -> Value? {
        guard !text.isEmpty else { return nil }
        var text = text
        return try text.withUTF8 { bytes in
            var reader = YAMLReader(bytes)
            return try reader.document()
        }
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        self.parser.initialize(to: yaml_parser_t())
        self.isReady = yaml_parser_initialize(self.parser) == 1
        guard self.isReady else { return }
        yaml_parser_set_encoding(self.parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(self.parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(self.parser)
        self.parser.deallocate()
    }

    private mutating func document() throws -> Value? {
        guard self.isReady else { throw YAMLFault.memory }
        _ = try self.next()  // the start of the stream
        guard try self.next().kind != .streamEnd else { return nil }
        let value = try self.value(of: self.next(), depth: 0)
        _ = try self.next()  // the end of the document
        let end = try self.next()
        guard end.kind == .streamEnd else {
            throw YAMLFault.syntax(problem: "but found another document", line: end.line, column: end.column)
        }
        return value
    }

    private mutating func value(of event: Event, depth: Int) throws -> Value {
        let first = self.count
        try self.count(1, event)
        let value: Value
        switch event.kind {
        case .alias:
            guard let anchor = event.anchor, let known = self.anchors[anchor] else {
                throw YAMLFault.syntax(problem: "found undefined alias", line: event.line, column: event.column)
            }
            try self.count(known.count, event)
            return known.value
        case .text(let text): value = .text(text)
        case .null: value = .nothing
        case .listStart, .mappingStart:
            guard depth < Self.maximumDepth else { throw YAMLFault.tooLarge(line: event.line) }
            let isList = event.kind == .listStart
            value = isList ? .list(try self.list(depth: depth + 1)) : .mapping(try self.mapping(depth: depth + 1))
        case .end, .streamEnd, .other: value = .nothing  // the parser returns no such event in place of a value
        }
        if let anchor = event.anchor { self.anchors[anchor] = (value, self.count - first) }
        return value
    }

    private mutating func count(_ values: Int, _ event: Event) throws {
        self.count += values
        guard self.count <= Self.maximumValues else { throw YAMLFault.tooLarge(line: event.line) }
    }

    private mutating func list(depth: Int) throws -> [Value] {
        var list: [Value] = []
        var event = try self.next()
        while event.kind != .end {
            list.append(try self.value(of: event, depth: depth))
            event = try self.next()
        }
        return list
    }

    private mutating func mapping(depth: Int) throws -> [ConfigurationFile.Entry] {
        var entries: [ConfigurationFile.Entry] = []
        var lines: [String: Int] = [:]
        var event = try self.next()
        while event.kind != .end {
            let key = event.kind == .null ? event.text : nil
            let named = try self.value(of: event, depth: depth).text
            let name = named ?? key ?? ""
            if let line = lines.updateValue(event.line, forKey: name) {
                throw YAMLFault.duplicateKey(name, line: line)
            }
            let value = try self.value(of: self.next(), depth: depth)
            entries.append(.init(key: name, value: value, line: event.line))
            event = try self.next()
        }
        return entries
    }
}

/// The events of libyaml.
extension YAMLReader {
    /// One event of libyaml: a value, or the start or the end of something.
    private struct Event {
        enum Kind: Hashable {
            case alias
            case text(String)
            /// A key or an entry of a list without a value.
            case null
            case listStart
            case mappingStart
            /// The end of a list or of a mapping.
            case end
            case streamEnd
            case other
        }

        var kind: Kind
        /// The text of a scalar, as it is written, also of one that means no value.
        var text: String?
        /// The anchor of a value, or the one that an alias names.
        var anchor: String?
        let line: Int
        let column: Int
    }

    private mutating func next() throws -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(self.parser, &event) == 1 else { throw self.fault }
        defer { yaml_event_delete(&event) }
        var read = Event(
            kind: .other, line: Int(event.start_mark.line) + 1, column: Int(event.start_mark.column) + 1)
        switch event.type {
        case YAML_ALIAS_EVENT:
            read.kind = .alias
            read.anchor = Self.name(event.data.alias.anchor)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let isNull = scalar.style == YAML_PLAIN_SCALAR_STYLE && ["", "~", "null", "Null", "NULL"].contains(text)
            read.kind = isNull ? .null : .text(text)
            read.text = text
            read.anchor = Self.name(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            read.kind = .listStart
            read.anchor = Self.name(event.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT:
            read.kind = .mappingStart
            read.anchor = Self.name(event.data.mapping_start.anchor)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: read.kind = .end
        case YAML_STREAM_END_EVENT: read.kind = .streamEnd
        default: break
        }
        return read
    }

    private static func name(_ anchor: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        anchor.map { String(decodingCString: $0, as: UTF8.self) }
    }

    /// The fault at which the parser stopped. A message of libyaml names no content of the text.
    private var fault: YAMLFault {
        let state = self.parser.pointee
        guard let problem = state.problem.map({ String(cString: $0) }) else { return .memory }
        switch state.error {
        case YAML_READER_ERROR:
            let before = String(decoding: self.bytes.prefix(state.problem_offset), as: UTF8.self)
            return .character(problem: problem, line: 1 + before.count(where: \.isNewline))
        case YAML_SCANNER_ERROR, YAML_PARSER_ERROR, YAML_COMPOSER_ERROR:
            let mark = state.problem_mark
            return .syntax(problem: problem, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
        default: return .memory
        }
    }
}
