// The rules of the layers, read from the sources: the imports, the use of C, the length of files.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow, .pure)) struct Architecture {
  /// The modules of this package that each target may import. Arrows point down only.
  static let layers: [String: Set<String>] = [
    "CipherSQLite": ["CSQLCipher", "CLibCrypto", "CVaultShims"],
    "ObjectVault": ["CipherSQLite", "CVaultShims"],
    "VaultAuthoring": ["ObjectVault", "CipherSQLite"],
    "StoreMigrateKit": ["VaultAuthoring", "ObjectVault", "CipherSQLite"],
    // No test framework, as it serves all of them.
    "ObjectVaultTesting": ["ObjectVault", "CipherSQLite"],
    "store-migrate": ["StoreMigrateKit"],
    "Microblog": ["ObjectVault"],
    "vault-demo": ["ObjectVault", "CipherSQLite", "Migrations", "Microblog"],
  ]
  static let system: Set<String> = ["Foundation", "Dispatch", "Observation", "Synchronization"]

  static func sources(_ target: String) throws -> [(path: String, text: String)] {
    let folder = packageRoot.appendingPathComponent("Sources/\(target)")
    let names = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
    return try names.filter { $0.hasSuffix(".swift") }.map { name in
      ("\(target)/\(name)", try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
    }
  }

  @Test func `every Swift target of Sources is in the table`() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: packageRoot.appendingPathComponent("Sources").path)
    let swift = try folders.filter { !$0.hasPrefix("C") || $0 == "CipherSQLite" }.filter {
      try !Self.sources($0).isEmpty
    }
    #expect(Set(swift) == Set(Self.layers.keys))
  }

  @Test(arguments: layers.keys.sorted())
  func `imports point downward`(_ target: String) throws {
    let allowed = (Self.layers[target] ?? []).union(Self.system)
    for file in try Self.sources(target) {
      for line in file.text.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index <= 1, !line.hasPrefix("//"),
          !line.hasPrefix(" ")
        else { continue }
        let module = String(words[index + 1].split(separator: ".")[0])
        #expect(allowed.contains(module), "\(file.path) imports \(module)")
      }
    }
  }

  @Test func `the compilers of predicates and migrations open nothing`() throws {
    for file in try Self.sources("ObjectVault")
    where [
      "PredicateCompiler", "PredicateNode", "FormatParser", "MigrationCompiler", "MigrationOperation",
      "SegmentMapping", "MigrationParser", "Operations/",
    ].contains(where: { file.path.contains("/\($0)") }) {
      for word in ["Connection.open", "FileManager", "ConnectionPool", "Date()"] {
        #expect(!file.text.contains(word), "\(file.path) uses \(word)")
      }
    }
  }

  // A reason may be a sentence or a part of one. `ended` gives either of them a single full stop.
  @Test(arguments: ["ObjectVault", "VaultAuthoring", "StoreMigrateKit"])
  func `no message puts a full stop after a reason by itself`(_ target: String) throws {
    for file in try Self.sources(target) where !file.path.hasSuffix("/MessageTexts.swift") {
      let places = file.text.matches(of: #/\\\((reason|hint|obstacle|loss)\)\.[ "]/#).map { String($0.0) }
      #expect(places.isEmpty, "\(file.path): \(places)")
    }
  }

  @Test func `no SQL above the connection layer is spliced together from strings`() throws {
    // An argument with the label `sql:` is a text that the builder made, and not a literal with
    // interpolations.
    func spliced(_ text: String) -> [Substring] {
      let calls =
        #/(?:execute|value|rows|query|withStatement|executeScript)\(\s*sql:\s*("""[\s\S]*?"""|"(?:\\[\s\S]|[^"\\\n])*)/#
      return text.matches(of: calls).map(\.output.1).filter { $0.contains("\\(") }
    }
    for sample in [#"execute(sql: "DROP \(name)")"#, "value(\n  sql: \"\"\"\n  a\n  b \\(c)\n  \"\"\")"] {
      #expect(spliced(sample).count == 1, "\(sample)")
    }
    let above = try ["ObjectVault", "VaultAuthoring", "StoreMigrateKit"].flatMap { try Self.sources($0) }
    let raw = above.flatMap { path, text in
      spliced(text).map { "\(path): \($0)" }
    }
    #expect(raw.isEmpty, "\(raw.joined(separator: "\n"))")
    // SQL that a person wrote may enter the builder only in migrations and for tables.
    let builders = try ["ObjectVault", "VaultAuthoring"].flatMap { try Self.sources($0) }
    for (path, text) in builders where text.contains("\\(written:") {
      #expect(
        path.contains("ObjectVault/Migration/") || path.hasSuffix("/TableLayout.swift")
          || path.hasSuffix("/RawStatement.swift"), "\(path)")
    }
  }

  @Test(arguments: layers.keys.sorted())
  func `paths are split in one place, and files are replaced in one place`(_ target: String) throws {
    for file in try Self.sources(target) {
      // Its path calls crash for a path of one letter.
      #expect(!file.text.contains("NSString"), "\(file.path) uses NSString; see DatabasePath")
      guard !file.path.hasPrefix("CipherSQLite/Files/") else { continue }
      // Operations of the model are named rename and link as well.
      let own = target == "ObjectVault" ? [] : [" rename(", " link("]
      for call in own + [" realpath(", "replaceItem"] {
        #expect(!file.text.contains(call), "\(file.path) calls\(call); see SealedFile and FileReplacement")
      }
    }
  }

  // The demo is an example of a user's program.
  @Test(arguments: layers.keys.filter { $0 != "vault-demo" }.sorted())
  func `command line arguments are read in one place`(_ target: String) throws {
    for file in try Self.sources(target) where file.path != "CipherSQLite/Basics/ProgramArguments.swift" {
      #expect(!file.text.contains("CommandLine."), "\(file.path) uses CommandLine; see ProgramArguments")
    }
  }

  @Test(arguments: layers.keys.sorted())
  func `threads are created in one place`(_ target: String) throws {
    for file in try Self.sources(target) where file.path != "CipherSQLite/Basics/DedicatedThread.swift" {
      let maker = #/\bThread(\(| \{)|detachNewThread|pthread_create/#
      #expect(!file.text.contains(maker), "\(file.path) makes a thread; see DedicatedThread")
      #expect(!file.text.contains(".setSpecific("), "\(file.path) has a queue carry a value; see SerialQueue")
    }
  }

  /// Each call by which the tool changes a file that is not a database: by source file, each once. All of
  /// them belong to TextFile, which writes a temporary file, syncs it and names it.
  static let writes = [
    "StoreMigrateKit/Commands/EmbedCommand.swift": ["write"],
    "StoreMigrateKit/Commands/EarlierImport.swift": ["create", "remove", "write"],
    // A word for removed links, and no call.
    "StoreMigrateKit/Commands/LogCommand.swift": ["unlink"],
    "StoreMigrateKit/Commands/NewCommand.swift": ["create"],
    "StoreMigrateKit/Commands/RebaseCommand.swift": ["move"],
    "StoreMigrateKit/Commands/SquashCommand.swift": ["remove", "write"],
    "StoreMigrateKit/Commands/StepFolderLock.swift": ["makeFolder", "rmdir", "sweep"],
    // The two standard streams, which are not files of the tool.
    "StoreMigrateKit/Terminal/StandardStream.swift": ["O_RDWR", "write"],
  ]

  @Test(arguments: ["StoreMigrateKit", "VaultAuthoring", "store-migrate"])
  func `the tool writes its files by one primitive, at the listed places`(_ target: String) throws {
    let calls =
      #/TextFile\.(write|create|move|remove|makeFolder|sweep)\(|Foundation\.(write)\(|\b(O_CREAT|O_WRONLY|O_RDWR|pwrite|unlink|rmdir|mkdir|truncate\(|fopen|write\(to:|createFile|createDirectory|createSymbolicLink|removeItem|moveItem|copyItem|replaceItem|setAttributes|forWriting|forUpdating|OutputStream)/#
    for file in try Self.sources(target) {
      let code = file.text.split(separator: "\n").filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }
      let found = code.joined(separator: "\n").matches(of: calls)
        .compactMap { ($0.output.1 ?? $0.output.2 ?? $0.output.3).map(String.init) }
      #expect(Set(found).sorted() == Self.writes[file.path] ?? [], "\(file.path)")
    }
  }

  @Test(arguments: layers.keys.sorted())
  func `no file is longer than 500 lines, and none can trap on input`(_ target: String) throws {
    for file in try Self.sources(target) {
      #expect(file.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 500, "\(file.path)")
      for word in ["fatalError(", "try!", "as!", "preconditionFailure(", "precondition("] {
        #expect(!file.text.contains(word), "\(file.path) has \(word)")
      }
      if !file.path.contains("vault-demo") {
        #expect(!file.text.contains(#/\bprint\(/#), "\(file.path) prints")
      }
    }
  }
}
