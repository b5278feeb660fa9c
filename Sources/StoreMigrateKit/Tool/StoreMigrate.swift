// The tool: finds the command, runs it, prints its report, maps errors to exit codes.

import CipherSQLite
import Foundation
public import ObjectVault

/// `store-migrate` as a library, so that an app can build its own, with its steps inside:
///
/// ```swift
/// @main struct Tool {
///   static func main() async {
///     let steps = try? MigrationSet.embedded(AppMigrations.steps)
///     await StoreMigrate.main(migrations: steps)
///   }
/// }
/// ```
public enum StoreMigrate {
  static let commands: [any Command.Type] = [
    StatusCommand.self, PlanCommand.self, InfoCommand.self, VerifyCommand.self, FetchCommand.self,
    CountCommand.self,
    UpCommand.self, RekeyCommand.self, UpgradeCipherCommand.self, RestoreCommand.self,
    BackupCommand.self, EncryptCommand.self, ExportCommand.self, SlotsCommand.self,
    NewCommand.self, EmbedCommand.self, CheckCommand.self,
  ]

  /// The names of all commands, in the order of the overview.
  package static var commandNames: [String] { commands.map { $0.name } }

  /// What a command is for, in a few words; nil where there is none of this name.
  package static func summary(of name: String) -> String? {
    commands.first { $0.name == name }.map { $0.summary }
  }

  /// The tool's version.
  public static let version = "0.1.0"

  /// Runs the tool with the process's arguments and ends the process.
  ///
  /// - Parameter migrations: Steps to use where `--migrations` is not given; nil reads `./Migrations`.
  public static func main(migrations: MigrationSet? = nil) async -> Never {
    StandardStream.prepare()
    let interruption = Interruption()
    interruption.listen()
    var output: Output
    do {
      output = await run(try Arguments.ofProcess(), migrations: migrations, interruption: interruption)
    } catch { output = Output(code: ExitCode(error), errors: "store-migrate: \(error)") }
    interruption.end()
    exit(write(&output).rawValue)
  }

  /// Writes what a run has to say.
  /// - Returns: The exit code: 1 in the place of 0 when something could not be written.
  private static func write(_ output: inout Output) -> ExitCode {
    if !output.text.isEmpty, !StandardStream.output.write(output.text + "\n") {
      let reason = String(cString: strerror(StandardStream.output.failure ?? EIO))
      output.errors +=
        (output.errors.isEmpty ? "" : "\n")
        + "store-migrate: The command was run to its end, but its report could not be written to standard output "
        + "(\(reason))." + (output.loss.map { " \($0)" } ?? "")
    }
    if !output.errors.isEmpty { StandardStream.error.write(output.errors + "\n") }
    let isWhole = output.isCut || StandardStream.output.isWhole
    return output.code == .ok && !(isWhole && StandardStream.error.isWhole) ? .failed : output.code
  }

  /// What a run printed, and how it ended.
  struct Output: Sendable {
    var code: ExitCode
    var text = ""
    var errors = ""
    /// What has to be said when `text` could not be written.
    var loss: String?
    /// Whether whoever read the output had enough of it.
    var isCut = false
  }

  static func run(
    _ words: [String], migrations: MigrationSet?, interruption: Interruption
  ) async -> Output {
    let isJSON = words.contains("--json")
    let rows = RowSink()
    var name = ""
    do {
      let arguments = try Arguments(words)
      if arguments.has("--version") {
        return Output(code: .ok, text: "store-migrate \(version), \(Engine.current)")
      }
      let first = arguments.positional.first
      if first == nil || first == "help" || arguments.has("--help") { return help(arguments, first) }
      name = first ?? ""
      let command = try command(named: name)
      let given = arguments.positional.count - 1
      guard given == command.positionalCount || command.positionalCount < 0 else {
        throw UsageError(
          "\(name) takes \(command.positionalCount == 0 ? "no argument" : command.positionalNames), "
            + "\(given) given. See: store-migrate help \(name)")
      }
      let session = Session(
        arguments: arguments, bundled: migrations,
        standardError: { StandardStream.error.write($0 + "\n") }, interruption: interruption,
        rows: rows)
      // Before anything is opened: a mistyped number is a mistake of the line and not of the store.
      _ = try session.lockTimeout()
      _ = (try session.profile(), try session.newProfile())
      let report = try await command.run(session)
      let text =
        report.isWritten
        ? "" : isJSON ? json(name, report) : arguments.has("--quiet") ? "" : report.description
      var output = Output(code: report.exitCode, text: text, loss: report.loss)
      if interruption.signal != nil {
        output.errors = "store-migrate: It was done before it could be stopped."
      }
      return output
    } catch is ReaderGone {
      return Output(code: .ok, isCut: true)
    } catch {
      var (code, message) = (ExitCode(error), "\(error)")
      if let aftermath = interruption.aftermath, let signal = interruption.signal {
        code = ExitCode(signal: signal)
        // Another error than the one that the signal made is told besides.
        let isOther = ![.interrupted, .failed].contains(ExitCode(error))
        message = "\(Interruption.said(signal)) \(aftermath.found())" + (isOther ? " (\(error))" : "")
      } else if let aftermath = interruption.aftermath, [.failed, .noSpace].contains(code) {
        // The disk may have failed before the last step or after it.
        message += " \(aftermath.found())"
      }
      // Behind rows an object of JSON would be a part of theirs.
      return isJSON && !rows.hasBegun
        ? Output(code: code, text: jsonError(name, code, message))
        : Output(code: code, errors: "store-migrate: \(message)")
    }
  }

  private static func command(named name: String) throws -> any Command.Type {
    if let command = commands.first(where: { $0.name == name }) { return command }
    throw UsageError(
      "\"\(name)\" is no command.\(didYouMean(name, among: commands.map { $0.name })) See: store-migrate --help"
    )
  }

  // MARK: Help

  private static func help(_ arguments: Arguments, _ first: String?) -> Output {
    let topic = first == "help" ? arguments.positional.dropFirst().first : first
    guard let topic else { return Output(code: .ok, text: overview) }
    do {
      let command = try command(named: topic)
      let store = command.positionalNames.isEmpty ? "" : " " + command.positionalNames
      return Output(
        code: .ok, text: "store-migrate \(command.name)\(store): \(command.summary)\n\n\(command.help)")
    } catch { return Output(code: .usage, errors: "store-migrate: \(error)") }
  }

  static var overview: String {
    let groups = CommandGroup.allCases.map { group in
      let lines = commands.filter { $0.group == group }.map { "  \(padded($0.name, 14)) \($0.summary)" }
      return ([group.rawValue] + lines).joined(separator: "\n")
    }
    return """
      store-migrate: move an encrypted store from one schema version to another.

      EXAMPLES
        store-migrate status notes.store            where is this store?
        store-migrate plan   notes.store            what would `up` do? (prints SQL, writes nothing)
        store-migrate up     notes.store            migrate, all in one transaction
        store-migrate new    "split user name"      write Migrations/0007_split_user_name.migration
        store-migrate check                         CI: steps, lock, snapshot and embedded code agree

      \(groups.joined(separator: "\n\n"))

      KEY (never an argument; with --new-key-… for rekey)
        --key-file PATH|-   --key-fd N   --key-env NAME   --key-command COMMAND
        otherwise $STORE_MIGRATE_KEY, otherwise a prompt.   --key-format passphrase|hex|base64
        --slots FILE: the key opens a slot of this key file, which holds the store's (also --key-format recovery)
        --slots-work S: let the file's passphrases cost so many seconds to try; 2 without it

      CIPHER (older defaults, hashes and page sizes are found by themselves; rounds and headers in clear are not)
        --cipher SETTINGS       what the file has           --new-cipher SETTINGS   rekey, encrypt, upgrade-cipher
        SETTINGS, with commas between: sqlcipher3 or sqlcipher4 first, then
        page=BYTES rounds=N hmac=sha1|sha256|sha512 kdf=sha1|sha256|sha512 header=BYTES salt=HEX

      COMMON
        -m, --migrations DIR    default ./Migrations       --json        one JSON object on standard output
        -y, --yes               no questions               --no-input    fail instead of asking
            --lock-timeout S    default 15                 -q, --quiet   -h, --help   --version
            --no-backup         up: no copy before a step that loses or rewrites values
            --immutable         status, plan, info, verify, fetch, count, backup: of a file that nobody can write
                                meanwhile, as on a read-only disk; without it locks are taken, and beside a log its
                                -shm is written

      A signal (Ctrl-C, SIGTERM, SIGHUP) stops a command in order: what it was about is undone, or was done already,
      and the last line says which key opens the store. A second one ends it at once, and says the same.

      EXIT CODES
      \(ExitCode.allCases.map { "  \(padded("\($0.rawValue)", 4)) \($0.meaning)" }.joined(separator: "\n"))

      Run `store-migrate help COMMAND` for more.
      """
  }
}
