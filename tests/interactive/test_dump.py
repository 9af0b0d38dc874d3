"""Old RMS databases: read as they are, migrated, and read from a dump."""

from __future__ import annotations

import pytest

from irsim_isaac.errors import StoreError
from irsim_isaac.interactive import Observation, Store

sqlalchemy = pytest.importorskip("sqlalchemy")

TABLES = r"""
CREATE TABLE `studies` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `name` varchar(64) NOT NULL, `start` date NOT NULL, `end` date NOT NULL,
  `length` int(11) NOT NULL, `anonymous` tinyint(1) NOT NULL DEFAULT '0',
  `otf` tinyint(1) NOT NULL, `parallel` tinyint(1) NOT NULL, `repeatable` tinyint(1) NOT NULL,
  `created` datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  `modified` datetime DEFAULT NULL,
  PRIMARY KEY (`id`), UNIQUE KEY `name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `conditions` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT, `name` varchar(64) NOT NULL,
  `study_id` int(10) unsigned NOT NULL, `iface_id` int(10) unsigned DEFAULT NULL,
  `environment_id` int(10) unsigned DEFAULT NULL,
  `created` datetime DEFAULT NULL, `modified` datetime DEFAULT NULL, PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `slots` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT, `condition_id` int(10) unsigned NOT NULL,
  `start` datetime NOT NULL, `end` datetime NOT NULL,
  `created` datetime DEFAULT NULL, `modified` datetime DEFAULT NULL, PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `appointments` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `user_id` int(10) unsigned DEFAULT NULL,
  `slot_id` int(10) unsigned NOT NULL,
  `created` datetime DEFAULT NULL, `modified` datetime DEFAULT NULL, PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `logs` (
  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `appointment_id` bigint(20) unsigned NOT NULL, `type_id` int(10) unsigned NOT NULL,
  `label` varchar(255) NOT NULL, `entry` text NOT NULL,
  `created` datetime DEFAULT NULL, `modified` datetime DEFAULT NULL, PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `users` (
  `id` int(10) unsigned NOT NULL, `username` varchar(64) NOT NULL, PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `iwmodels` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT, `condition_id` int(10) unsigned NOT NULL,
  `value` mediumtext NOT NULL,
  `created` datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  `modified` datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  PRIMARY KEY (`id`), UNIQUE KEY `condition_id` (`condition_id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE `swms` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT, `surface` varchar(255) NOT NULL,
  `surface_frame_id` varchar(255) NOT NULL, `placement_surface_frame_id` varchar(255) NOT NULL,
  `item` varchar(255) NOT NULL, `item_conf` double NOT NULL,
  `x` double NOT NULL, `y` double NOT NULL, `z` double NOT NULL, `theta` float NOT NULL,
  `time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `removed` timestamp NOT NULL DEFAULT '0000-00-00 00:00:00', PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
"""

ROWS = r"""
INSERT INTO `studies` VALUES (1,'It\'s a \"study\"; 100%','2014-12-01','0000-00-00',30,1,0,1,0,
  '0000-00-00 00:00:00',NULL);
INSERT INTO `conditions` VALUES (3,'Interactive World Task 1',1,2,NULL,'2014-12-01 00:00:00',NULL);
INSERT INTO `slots` VALUES (7,3,'2014-12-01 10:00:00','2014-12-01 11:00:00',NULL,NULL);
INSERT INTO `appointments` VALUES (11,42,7,'2014-12-01 10:00:00',NULL);
INSERT INTO `users` VALUES (42,'worker; A1B2');
INSERT INTO `logs` VALUES
  (1,11,3,'config','{&quot;task&quot;:&quot;Set the table&quot;}','2014-12-01 10:00:01',NULL),
  (2,11,3,'place','O\'Brien\\''s (cup), \n; next','2014-12-01 10:00:02','0000-00-00 00:00:00');
INSERT INTO `iwmodels` VALUES (1,3,'{\"models\":[{\"decision_value\":2.5}]}',
  '0000-00-00 00:00:00','0000-00-00 00:00:00');
INSERT INTO `swms` VALUES
  (1,'Kitchen Table','table_frame','table_top','cup',0.5,0.1,-0.2,0.3,1.5,
   '2015-03-25 12:00:00','0000-00-00 00:00:00'),
  (2,'Kitchen Table','table_frame','table_top','fork',1e0,.25,2,-3,0,
   '2015-03-25 12:00:01','2015-03-25 13:00:00');
"""

DUMP = f"""-- MySQL dump 10.13; it isn't 'much'
/*!40101 SET NAMES utf8 */;
/*!40103 SET TIME_ZONE='+00:00' */;
LOCK TABLES `swms` WRITE;
{TABLES}{ROWS}
UNLOCK TABLES;
"""

NOON = 1_427_284_800.0
"""2015-03-25 12:00:00 UTC."""


def check(store: Store) -> None:
    """What the old database says."""
    assert [study.name for study in store.studies()] == ['It\'s a "study"; 100%']
    (entry,) = store.conditions(1)
    assert (entry.id, entry.name) == (3, "Interactive World Task 1")
    assert [slot.id for slot in store.slots(3)] == [7]
    assert [session.id for session in store.appointments(7)] == [11]
    logs = store.logs(11)
    assert [log.entry for log in logs] == [
        '{"task":"Set the table"}',
        "O'Brien\\'s (cup), \n; next",
    ]
    assert [log.created for log in logs] == [1_417_428_001.0, 1_417_428_002.0]
    assert store.load_models(3).models[0].decision_value == 2.5
    seen = store.observations()
    assert seen == [
        Observation("Kitchen Table", "cup", 0.1, -0.2, 0.3, 1.5, 0.5, "table_frame", "table_top",
                    NOON, None, 1)
    ]  # fmt: skip
    (gone,) = store.observations(removed=True)
    assert (gone.item, gone.x, gone.time, gone.removed) == ("fork", 0.25, NOON + 1, NOON + 3600.0)
    assert [row.id for row in store.observations(item="CUP")] == [1]


def test_a_dump_is_read_into_every_kind_of_store(url, clock):
    with Store(url, clock=clock) as store:
        counts = store.read_dump(DUMP)
        assert counts == {
            "studies": 1, "conditions": 1, "slots": 1, "appointments": 1, "logs": 2,
            "iwmodels": 1, "swms": 2, "users": -1,
        }  # fmt: skip
        check(store)
        # Ids go on after those of the dump.
        assert store.add_observation(Observation("Table", "cup")) == 3


def test_who_took_part_is_not_kept(tmp_path):
    with Store(str(tmp_path / "store.db")) as store:
        store.read_dump(DUMP)
        with store._connection() as connection:
            assert connection.exec_driver_sql("SELECT user_id FROM appointments").all() == [(None,)]
    assert b"A1B2" not in (tmp_path / "store.db").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        DUMP + "INSERT INTO `swms` VALUES (9,'a');",
        DUMP + "INSERT INTO `swms` VALUES (1,'open",
        DUMP.replace("(2,'Kitchen Table'", "('x','Kitchen Table'"),
        DUMP.replace("(7,3,", "(7,99,"),
    ],
)
def test_a_broken_dump_leaves_nothing(tmp_path, text):
    with Store(str(tmp_path / "store.db")) as store:
        with pytest.raises(StoreError):
            store.read_dump(text)
        assert store.studies() == []
        assert store.observations(removed=None) == []


@pytest.fixture
def old(mariadb) -> str:
    """A real MariaDB with the tables of an old installation."""
    from tests.interactive.conftest import new_database

    url = new_database(mariadb, "mysql")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        # What old servers allowed.
        connection.exec_driver_sql("SET sql_mode = ''")
        connection.exec_driver_sql("SET time_zone = '+00:00'")
        for statement in (
            (TABLES + ROWS).replace("; 100%", "\0").replace("; next", "\1").split(";\n")
        ):
            text = statement.replace("\0", "; 100%").replace("\1", "; next").strip()
            if text:
                connection.exec_driver_sql(text.replace("%", "%%"))
    engine.dispose()
    return url


def test_an_old_installation_is_read_as_it_is(old, clock):
    with Store(old, create=False, clock=clock) as store:
        assert store.version == 0
        check(store)


def test_an_old_installation_is_written_as_it_is(old, clock):
    with Store(old, create=False, clock=clock) as store:
        number = store.add_observation(Observation("Shelf", "Bowl"))
        assert [seen.id for seen in store.observations(item="bowl")] == [number]
        assert store.set_removed([1, 2]) == 1
        store.save_models(3, store.load_models(3))


def test_an_old_installation_is_migrated(old, clock):
    with Store(old, clock=clock) as store:
        assert store.version == 2
        check(store)
        store.add_observation(Observation("Shelf", "Straße"))
        assert len(store.observations(item="STRASSE")) == 1


def test_the_oldest_observations_gain_their_columns(tmp_path, clock):
    path = tmp_path / "store.db"
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE swms (id INTEGER PRIMARY KEY, surface VARCHAR(255), "
            "placement_surface_frame_id VARCHAR(255), item VARCHAR(255), item_conf DOUBLE, "
            "x DOUBLE, y DOUBLE, z DOUBLE, theta FLOAT, time TIMESTAMP)"
        )
        connection.exec_driver_sql(
            "INSERT INTO swms VALUES (1, 'Desk', 'top', 'Cup', 1, 0, 0, 0, 0, "
            "'2015-03-25 12:00:00.000000')"
        )
    engine.dispose()
    with Store(str(path), create=False) as store:
        assert [seen.time for seen in store.observations(item="cup")] == [NOON]
        with pytest.raises(StoreError, match="create=True"):
            store.set_removed([1])
        with pytest.raises(StoreError, match="no table 'studies'"):
            store.studies()
    with Store(str(path), clock=clock) as store:
        assert store.set_removed([1]) == 1
        assert [seen.surface for seen in store.observations(item="cup", removed=True)] == ["Desk"]
