import numpy as np
import pytest

from craik.estimators.reading import digest, read_trajectories


class TestTrajectories:
    frames = np.arange(24.0).reshape(2, 4, 3)

    def same(self, recorded, lengths=(4, 4)):
        assert len(recorded.frames) == len(lengths)
        for one, whole, length in zip(recorded.frames, self.frames, lengths, strict=True):
            np.testing.assert_array_equal(one, whole[:length])

    def test_one_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames)
        np.save(tmp_path / "b.npy", self.frames)
        for name in ("a.npz", "b.npy"):
            found = read_trajectories(tmp_path / name)
            self.same(found)
            assert found.names == ("x0", "x1", "x2")

    def test_lengths(self, tmp_path):
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2, 4]))
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", frames=self.frames, lengths=np.array([2, 5]))
        with pytest.raises(ValueError, match="from 1 to 4"):
            read_trajectories(tmp_path / "a.npz")

    def test_an_array_for_each(self, tmp_path):
        np.savez(tmp_path / "a.npz", first=self.frames[0, :2], second=self.frames[1])
        self.same(read_trajectories(tmp_path / "a.npz"), (2, 4))
        np.savez(tmp_path / "a.npz", first=self.frames[0], second=np.ones(3))
        with pytest.raises(ValueError, match=r"second \(3,\)"):
            read_trajectories(tmp_path / "a.npz")

    def table(self, path, order=range(8), text=""):
        lines = [f"{'ab'[i // 4]},{i % 4},{','.join(map(str, self.frames[i // 4, i % 4]))}{text}" for i in order]
        path.write_text("\n".join(["who,when,x,y,z" + (",said" if text else ""), *lines]) + "\n")

    def test_a_table(self, tmp_path):
        self.table(tmp_path / "a.csv", [3, 0, 1, 2, 7, 6, 5, 4], ",word")
        found = read_trajectories(tmp_path / "a.csv", "who", "when")
        self.same(found)
        assert found.names == ("x", "y", "z")
        assert "said" in found.notes[0]
        with pytest.raises(ValueError, match="--trajectory"):
            read_trajectories(tmp_path / "a.csv")
        with pytest.raises(ValueError, match="when"):
            read_trajectories(tmp_path / "a.csv", "who", "whem")

    def test_a_folder(self, tmp_path):
        np.save(tmp_path / "0.npy", self.frames[0])
        np.save(tmp_path / "1.npy", self.frames[1])
        self.same(read_trajectories(tmp_path))
        (tmp_path / "2.csv").write_text("x,y\n1,2\n2,3\n")
        with pytest.raises(ValueError, match=r"same features. Found x, y in 2.csv"):
            read_trajectories(tmp_path)
        assert digest(tmp_path) != digest(tmp_path / "2.csv")

    def test_nothing(self, tmp_path):
        with pytest.raises(ValueError, match="one a trajectory"):
            read_trajectories(tmp_path)
        with pytest.raises(FileNotFoundError):
            read_trajectories(tmp_path / "a.npz")
        np.save(tmp_path / "a.npy", self.frames[0])
        with pytest.raises(ValueError, match="several"):
            read_trajectories(tmp_path / "a.npy")
