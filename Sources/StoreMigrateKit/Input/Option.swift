// The options of the command line. Each command declares its own; the parser, the help and the overview
// all read that declaration.

/// An option, with its help.
struct Option: Sendable {
  /// The headings under which a help lists options.
  enum Section: String, CaseIterable {
    case own = "OPTIONS"
    case key = "KEY (never written on the command line itself; default: $STORE_MIGRATE_KEY, then a prompt)"
    case newKey = "NEW KEY (default: see the command)"
    case cipher = "CIPHER (older defaults, hashes and page sizes are detected)"
    case common = "GLOBAL OPTIONS"
  }

  let name: String
  /// An alternative name of one letter.
  let short: String?
  /// The name of its value in the help; nil when it takes none.
  let value: String?
  let section: Section
  /// Whether it may be given several times, with a value each time.
  let isList: Bool
  /// Whether its value may be omitted, which changes its meaning.
  let isValueOptional: Bool
  /// The lines of its help.
  let help: [String]

  init(
    _ name: String, short: String? = nil, value: String? = nil, in section: Section = .own,
    isList: Bool = false, isValueOptional: Bool = false, _ help: String...
  ) {
    (self.name, self.short, self.value, self.section, self.help) = (name, short, value, section, help)
    (self.isList, self.isValueOptional) = (isList, isValueOptional)
  }

  /// The form in the help, such as `-m, --migrations DIR`.
  var form: String {
    (short.map { "\($0), " } ?? "    ") + name + (value.map { isValueOptional ? " [\($0)]" : " \($0)" } ?? "")
  }
}

extension Option {
  static let migrations = Option(
    "--migrations", short: "-m", value: "DIR", "the folder with the steps; default: ./Migrations")
  static let yes = Option("--yes", short: "-y", "answer yes to every question")
  static let allow = Option(
    "--allow", value: "lossy:NAME", isList: true, "allow this data loss, such as lossy:User.town; repeatable")
  static let noBackup = Option("--no-backup", "make no backup before a step that loses or rewrites values")
  static let transaction = Option(
    "--tx", value: "SCOPE",
    "all: one transaction, so all steps or none (the default); step: one transaction per step,",
    "for huge stores; after a failure or a stop, the complete steps stay committed")
  static let verbose = Option("--verbose", short: "-v", "show checksum, program and engine of each step")
  /// For commands that run steps.
  static let shownPlan = Option("--verbose", short: "-v", "show the plan before running it")
  static let lockTimeout = Option(
    "--lock-timeout", value: "SECONDS", "how long to wait for another process's lock; default: 15")
  /// For commands that migrate a store.
  private static let runTimeout = Option(
    "--lock-timeout", value: "SECONDS", "how long to wait for another process's lock or migration;",
    "default: 15 for a lock, no limit for a migration")
  static let immutable = Option(
    "--immutable", "take no lock and write no -shm file; only for a file that no process can write to,",
    "such as one on a read-only disk")
  static let filter = Option(
    "--where", value: "PREDICATE", isList: true,
    "a condition in the library's predicate format: ANY tags.name == 'x', city == nil,",
    "age BETWEEN {1, 9}; repeatable: all conditions must hold")

  /// The options that every command takes.
  static let common = [
    Option("--json", in: .common, "print one JSON object on standard output, also after a failure"),
    Option(
      "--quiet", short: "-q", in: .common,
      "print no report and no progress; still printed: errors, the output of",
      "fetch, count, sql, schema and embed --package, and a new recovery code"),
    Option(
      "--color", value: "WHEN", in: .common,
      "always, never, or auto: on a terminal unless NO_COLOR is set"),
    Option("--no-color", in: .common, "same as --color never"),
    Option("--plain", in: .common, "no colours, and only ASCII characters, except in names"),
    Option("--no-input", in: .common, "fail instead of asking a question"),
    Option("--help", short: "-h", in: .common, "show examples and options of the command"),
  ]

  /// The options for the source of the store's key.
  static let key =
    keyWays("--key", in: .key) + [
      Option(
        "--key-format", value: "FORMAT", in: .key,
        "passphrase (the default), hex, base64; for a slot also recovery"),
      Option(
        "--slots", value: "FILE", in: .key,
        "the key opens a slot of this key file, which contains the store's key"),
      slotsWork(in: .key),
    ]

  /// The options for the source of a new key.
  static let newKey =
    keyWays("--new-key", in: .newKey) + [
      Option(
        "--new-key-format", value: "FORMAT", in: .newKey,
        "passphrase (the default), hex, base64; for a slot also recovery"),
      Option("--new-slots", value: "FILE", in: .newKey, "the new key opens a slot of this key file"),
      slotsWork(in: .newKey),
    ]

  /// The options for the source of a slot's secret. A slot's secret is never in another key file, so
  /// `--slots` is excluded.
  static let slotKey = key.filter { !$0.name.hasSuffix("slots") }
  /// The options for the source of a slot's new secret.
  static let newSlotKey = newKey.filter { !$0.name.hasSuffix("slots") }

  private static func slotsWork(in section: Section) -> Option {
    Option(
      "--slots-work", value: "SECONDS", in: section,
      "the most time that one try of the key file's passphrase may take; default: 2")
  }

  private static func keyWays(_ name: String, in section: Section) -> [Option] {
    [
      Option(
        "\(name)-file", value: "PATH", in: section,
        "read from a file; one trailing newline is removed; - is standard input"),
      Option("\(name)-fd", value: "N", in: section, "read from an open file descriptor"),
      Option("\(name)-env", value: "NAME", in: section, "read from an environment variable"),
      Option(
        "\(name)-command", value: "COMMAND", in: section,
        "read from the output of a command, such as 'pass show notes'"),
    ]
  }

  fileprivate static let settings = [
    "SETTINGS is a comma-separated list, such as sqlcipher4,page=8192. Start with",
    "sqlcipher3 or sqlcipher4, or omit it (the engine's default); then any of: page=BYTES,",
    "rounds=N, hmac=sha1|sha256|sha512, kdf=sha1|sha256|sha512, header=BYTES (first bytes",
    "that are not encrypted), salt=HEX (the salt of such a file)",
  ]
  static let cipher = Option(
    "--cipher", value: "SETTINGS", section: .cipher,
    help: ["settings of the file that it does not record (rounds, header)."] + settings)
  static let newCipher = Option(
    "--new-cipher", value: "SETTINGS", section: .cipher, help: ["settings for the new file"])

  private init(_ name: String, value: String, section: Section, help: [String]) {
    (self.name, short, self.value, self.section, self.help) = (name, nil, value, section, help)
    (isList, isValueOptional) = (false, false)
  }

  /// The options of every command that opens a store.
  static let store = key + [cipher, lockTimeout]
  /// The options of commands that migrate a store.
  static let run = key + [cipher, runTimeout]
  /// The options of every command that only reads a store.
  static let look = store + [immutable]
}

extension [Option] {
  /// The options without duplicates; the first occurrence wins.
  var distinct: [Option] {
    var seen: Set<String> = []
    return filter { seen.insert($0.name).inserted }
  }

  /// Returns the lines of a help, under their headings.
  /// - Parameter newKeyDefault: What a command uses without an option for a new key; nil for the
  ///   overview.
  func lines(
    of sections: [Option.Section] = Option.Section.allCases, newKeyDefault: String? = nil
  ) -> String {
    let options = distinct
    return sections.compactMap { section in
      let here = options.filter { $0.section == section }
      guard !here.isEmpty else { return nil }
      let width = Swift.min(here.map(\.form.count).max() ?? 0, 30)
      // Elsewhere `--cipher` explains the settings.
      let isOfNewFile = here.map(\.name) == ["--new-cipher"]
      let lines = here.flatMap { option in
        let help = isOfNewFile ? option.help.map { "\($0)." } + Option.settings : option.help
        return help.enumerated().map { index, line in
          let form = index == 0 ? option.form : ""
          return "  " + form + String(repeating: " ", count: Swift.max(width - form.count, 0) + 2) + line
        }
      }
      let heading =
        switch section {
        case .newKey: newKeyDefault.map { "NEW KEY (default: \($0))" } ?? section.rawValue
        case .cipher where isOfNewFile: "CIPHER (of the new file)"
        default: section.rawValue
        }
      return ([heading] + lines).joined(separator: "\n")
    }.joined(separator: "\n\n")
  }
}
