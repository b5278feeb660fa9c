// The model that a Core Data file stores of itself: it has precedence, and an invalid one is ignored.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.pure, .slow)) struct CoreDataModels {
  private static var archive: CoreDataArchive {
    var archive = CoreDataArchive()
    archive.add("Album", attribute: "coverTitle", type: 700)
    archive.add("Album", attribute: "hasCover", type: 800)
    archive.add("Album", attribute: "mark", type: 1100)
    archive.add("Album", attribute: "photo", type: 1000, flags: 4)
    archive.add(
      "Album", "theSongs", to: "Song", inverse: "mainAlbum", isToMany: true, isOrdered: true, rule: 2)
    archive.add("Album", "sleeve", to: "Sleeve", inverse: "album", rule: 2)
    archive.add("Sleeve", "album", to: "Album", inverse: "sleeve")
    archive.add("Song", "mainAlbum", to: "Album", inverse: "theSongs")
    archive.add("Song", "playLists", to: "Playlist", inverse: "itsSongs", isToMany: true)
    archive.add("Playlist", "itsSongs", to: "Song", inverse: "playLists", isToMany: true, isOrdered: true)
    return archive
  }

  private static let tables = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    CREATE TABLE ZALBUM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZHASCOVER INTEGER, ZSLEEVE INTEGER,
      ZCOVERTITLE VARCHAR, ZMARK BLOB, ZPHOTO BLOB);
    CREATE TABLE ZSLEEVE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZALBUM INTEGER);
    CREATE TABLE ZSONG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZMAINALBUM INTEGER, Z_FOK_MAINALBUM INTEGER);
    CREATE TABLE ZPLAYLIST (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
    CREATE TABLE Z_3PLAYLISTS (Z_3ITSSONGS INTEGER, Z_4PLAYLISTS INTEGER, Z_FOK_3ITSSONGS INTEGER);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Album', 0, 9), (2, 'Sleeve', 0, 9), (3, 'Song', 0, 9), (4, 'Playlist', 0, 9);
    INSERT INTO ZALBUM VALUES (1, 1, 1, 1, 5, 'one', x'00112233445566778899aabbccddeeff', x'01ff'), (2, 1, 1, 0, NULL, NULL, NULL, x'0100');
    INSERT INTO ZSLEEVE VALUES (5, 2, 1, 1), (6, 2, 1, NULL);
    INSERT INTO ZSONG VALUES (1, 3, 1, 1, 3000), (2, 3, 1, 1, 1000), (3, 3, 1, 1, 2000), (4, 3, 1, NULL, NULL);
    INSERT INTO ZPLAYLIST VALUES (7, 4, 1);
    INSERT INTO Z_3PLAYLISTS VALUES (1, 7, 30), (2, 7, 10), (3, 7, 20);
    """

  private func lab(_ packed: Data, _ more: String = "") throws -> AdoptionLab {
    let hex = packed.map { String(format: "%02x", $0) }.joined()
    return try AdoptionLab(Self.tables + "INSERT INTO Z_MODELCACHE VALUES (x'\(hex)');" + more)
  }

  private func isTold(_ adoption: Adoption) -> Bool {
    adoption.notes.contains { $0.contains("in Z_MODELCACHE.") }
  }

  @Test func `names, types, targets, inverses, delete rules and orders are those of the stored model`()
    async throws
  {
    let lab = try lab(Self.archive.packed)
    let adoption = try await lab.adopt()
    #expect(isTold(adoption) && adoption.losses.isEmpty && adoption.obstacles.isEmpty, "\(adoption)")
    #expect(
      adoption.step.canonicalText == """
        create entity Album {
            attribute coverTitle string optional
            attribute hasCover bool optional
            attribute mark uuid optional
            attribute photo data optional
            relationship sleeve -> Sleeve on delete cascade
            relationship theSongs -> Song many ordered inverse Song.mainAlbum on delete cascade
        }
        create entity Playlist {
            relationship itsSongs -> Song many ordered inverse Song.playLists
        }
        create entity Sleeve {
            relationship album -> Album inverse Album.sleeve
        }
        create entity Song {
            relationship mainAlbum -> Album inverse Album.theSongs
            relationship playLists -> Playlist many inverse Playlist.itsSongs
        }
        """)
    #expect(
      try lab.rows("SELECT id, coverTitle, hasCover, mark, photo, sleeve_id FROM Album ORDER BY id") == [
        [1, "one", 1, "00112233-4455-6677-8899-AABBCCDDEEFF", .blob(Data([255])), 5],
        [2, .null, 0, .null, .blob(Data([0])), .null],
      ])
    #expect(try lab.rows("SELECT id FROM Sleeve ORDER BY id") == [[5], [6]])
    #expect(
      try lab.rows("SELECT id FROM Song ORDER BY mainAlbum_id IS NULL, _mainAlbum_position") == [
        [2], [3], [1], [4],
      ])
    #expect(
      try lab.rows("SELECT Song_id FROM Playlist_itsSongs ORDER BY Playlist_itsSongs_position") == [
        [2], [3], [1],
      ])
  }

  @Test func `an order that the steps omit is a loss`() async throws {
    let lab = try lab(Self.archive.packed)
    let text = try await lab.plan().step.canonicalText.replacing(" many ordered", with: " many")
    await #expect {
      try await lab.adopt(text)
    } throws: {
      guard case StoreError.adoptionLoses(_, let losses) = $0 else { return false }
      return losses.map(\.name) == ["Album.theSongs.order", "Playlist.itsSongs.order"]
    }
    try await lab.adopt(text, allowing: ["Album.theSongs.order", "Playlist.itsSongs.order"])
    #expect(try lab.rows("SELECT count(mainAlbum_id) FROM Song") == [[3]])
  }

  @Test func `ends of a one-to-one that do not reference each other become two to-ones`() async throws {
    let lab = try lab(Self.archive.packed, "UPDATE ZSLEEVE SET ZALBUM = 1")
    let adoption = try await lab.adopt()
    #expect(adoption.notes.contains { $0.contains("some rows do not refer back") })
    #expect(try lab.rows("SELECT id, album_id FROM Sleeve ORDER BY id") == [[5, 1], [6, 1]])
    #expect(try lab.rows("SELECT id, sleeve_id FROM Album ORDER BY id") == [[1, 5], [2, .null]])
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
  func `a stored model is read in every form of zlib, and a decompression bomb is ignored`() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.archive.data, to: "model")
    let script = """
      import sys, zlib
      data = open(sys.argv[1], "rb").read() if sys.argv[4] == "0" else bytes(100 << 20)
      packer = zlib.compressobj(int(sys.argv[2]), zlib.DEFLATED, int(sys.argv[3]), 9, int(sys.argv[5]))
      sys.stdout.write((packer.compress(data) + packer.flush()).hex())
      """
    for (level, bits, isBomb, strategy) in [
      ("9", "-15", "0", "0"), ("1", "-15", "0", "0"), ("6", "15", "0", "0"), ("0", "-15", "0", "0"),
      ("9", "-15", "0", "4"), ("9", "-15", "0", "2"), ("9", "-15", "1", "0"),
    ] {
      let made = try runTool(
        "/usr/bin/python3", ["-c", script, folder.path("model"), level, bits, isBomb, strategy])
      let text = Array(made.output.utf8)
      let bytes = stride(from: 0, to: text.count - 1, by: 2).compactMap {
        UInt8(String(decoding: text[$0..<$0 + 2], as: UTF8.self), radix: 16)
      }
      #expect(isTold(try await lab(Data(bytes)).plan()) == (isBomb == "0"), "\(level) \(bits) \(strategy)")
    }
  }

  @Test func `an invalid or damaged stored model is ignored, without a crash`() async throws {
    let good = Self.archive.data
    let nothing = [
      Data(), Data([1]), Data("bplist00".utf8), good.prefix(200), Data(repeating: 255, count: 3000),
    ]
    for bytes in nothing + nothing.map(CoreDataArchive.packed) {
      #expect(!isTold(try await lab(bytes).plan()))
    }
    var random = SeededGenerator(seed: 7)
    for round in 0..<40 {
      var bytes = [UInt8](good)
      // Damages the trailer and the table of offsets as well as the objects.
      for _ in 0..<8 {
        let place =
          round % 2 == 0
          ? Int.random(in: 0..<bytes.count, using: &random)
          : bytes.count - 1 - Int.random(in: 0..<400, using: &random)
        bytes[place] = UInt8.random(in: 0...255, using: &random)
      }
      _ = try await lab(round % 4 < 2 ? CoreDataArchive.packed(Data(bytes)) : Data(bytes)).plan()
    }
  }

  @Test(arguments: [(1, "1 value does"), (2, "2 values do")])
  func `values that are not stored as the model declares are counted in a note`(_ count: Int, _ words: String)
    async throws
  {
    let lab = try lab(Self.archive.packed, "UPDATE ZALBUM SET ZPHOTO = x'07' WHERE Z_PK <= \(count);")
    let note = try #require(await lab.plan().notes.first { $0.hasPrefix("Album.photo") })
    #expect(note.contains("\(words) not begin with 1 or 2"), "\(note)")
  }
}
